//! # homenode-planner: from who uses each page to a plan
//!
//! Counts who uses each page of a recording, lets a rule choose homes, fits them into full nodes and bandwidths, and names the
//! data for another run. Reads nothing but the dataset it is given.
//!
//! **Invariant:** what a plan says it costs is what the simulator says of the same recording with those homes
//! ([`price`], which knows nothing of how plans are made), to the last unit.
//!
//! Reading order: [`mod@plan`] (what is asked, and the steps), `evidence` (who uses a page) with [`spacing`] (what a window
//! weighs), `unit` and `chooser` (what is decided on, what a home is worth), `huge`, `decide` (homes), `bandwidth`, `keys` (names that
//! survive another run), `entries` and `estimate` (the plan), `warn`; then [`price`](mod@price).
//!
//! ```
//! use homenode_machine::models;
//! use homenode_placement::affinity::Rule;
//! use homenode_planner::{PlanRequest, plan, price};
//! use homenode_synthetic::Builder;
//! use homenode_trace::{DatasetReader, event::EventKind, symbols::Module};
//!
//! // A block that thread 0 touches first and thread 1 uses.
//! let (block, path) = (0x7000_0000u64, "/bin/program".to_owned());
//! let mut program = Builder::new(2);
//! program.event(0, EventKind::Module { bias: 0x40_0000, bytes: 0x10_0000, path: path.clone() });
//! program.symbols().modules = vec![Module { path, build_id: "00aabb".into() }];
//! program.alloc(0, block, 4 * 4096, &[0x40_1234]);
//! for page in 0..4 {
//!     program.write(0, block + 4096 * page);
//! }
//! program.spawn(0, 1);
//! for i in 0..1000 {
//!     program.read(1, block + i % 4 * 4096);
//! }
//! let reader = DatasetReader::open(program.store())?;
//!
//! let (machine, rule) = (models::find("opteron4").expect("in the registry"), Rule::default());
//! let asked = PlanRequest {
//!     machine: &machine,
//!     rule: &rule,
//!     map: None,
//!     move_threads: false,
//!     page_bytes: machine.shape.page_bytes,
//!     capacity: None,
//!     bandwidths: None,
//! };
//! let plan = plan(&reader, &asked, &mut |_| ())?;
//! let priced = price(&plan, &reader, &machine, &mut |_| ())?;
//! assert_eq!((plan.expected.now, plan.expected.planned), (priced.first_touch, priced.planned));
//! assert!(priced.planned < priced.first_touch);
//!
//! // Room for one page on each node: two pages fit nowhere.
//! let full = homenode_planner::plan(&reader, &PlanRequest { capacity: Some(&[1, 1, 0, 0]), ..asked }, &mut |_| ());
//! assert!(matches!(full, Err(homenode_planner::PlannerError::Full(_))));
//! # Ok::<(), homenode_planner::PlannerError>(())
//! ```
#![forbid(unsafe_code)]

mod bandwidth;
mod chooser;
mod dealt;
mod decide;
mod entries;
mod error;
mod estimate;
mod evidence;
mod huge;
mod keys;
pub mod plan;
mod price;
pub mod spacing;
mod unit;
mod warn;

pub use bandwidth::Bandwidths;
pub use error::PlannerError;
pub use plan::{PlanRequest, plan};
pub use price::{PlanPrice, price};
