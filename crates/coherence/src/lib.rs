//! # homenode-coherence: pages that are updated, invalidated, frozen, or copied only after a counter
//!
//! Every page has a master copy that is remote to all processors; processors read and write it from afar or make copies of
//! their own. Six [`protocols`] decide when (Markatos and Chronaki); the [`optimum`] is what the best of all that copy at
//! reads would have cost.
//!
//! **Invariant:** pure; protocols count what they do ([`Effects`]) and know no money, a machine with prices
//! ([`Coherence`](homenode_machine::Coherence)) turns counts into cost, and no protocol costs less than the optimum.
//!
//! Reading order: [`effects`], [`history`], [`protocol`], [`protocols`], [`optimum`], [`hindsight`]; [`oracle`] is a table and brute force for tests.
//!
//! ```
//! use homenode_base::{NodeId, VirtualTime};
//! use homenode_coherence::optimum::Optimum;
//! use homenode_coherence::{Choice, Effect, Effects};
//! use homenode_machine::{AccessClass, models};
//! use homenode_placement::{Access, AccessKind, Step};
//!
//! let access = |node, kind, t| {
//!     let class = if kind == AccessKind::Read { AccessClass::Read } else { AccessClass::Write };
//!     Step { slot: 0, access: Access { node: NodeId(node), kind, class, weight: 1, t: VirtualTime(t) } }
//! };
//! // Processors 0 and 1 read a page of 64 bytes, then 0 writes it, and 1 reads it again.
//! let page = [(0, AccessKind::Read), (1, AccessKind::Read), (0, AccessKind::Write), (1, AccessKind::Read)];
//! let page: Vec<Step> = (1..).zip(page).map(|(t, (node, kind))| access(node, kind, t)).collect();
//!
//! let machine = models::find("markatos").expect("in the registry");
//! let prices = machine.sections.coherence.as_ref().expect("it has prices");
//! let cost = |name: &str| {
//!     let mut effects = Effects::default();
//!     Choice::parse(name)?.engine(64).page(&page, &mut effects);
//!     Ok::<_, homenode_coherence::ProtocolError>((effects.of(Effect::Fetch), effects.cost(prices, 64)))
//! };
//! // Two copies at 90 + 16 words x 4 + 500 cycles, a write and a packet at 5 + 10, a read of the own copy at 5.
//! assert_eq!(cost("upt")?, (2, homenode_base::TotalCost(2 * 654 + 5 + 10 + 5)));
//! assert_eq!(cost("inv")?.0, 3, "the invalidated copy is fetched again");
//! // In hindsight nobody should have made a copy of a page that is used so little.
//! let optimum = Optimum::new(prices, 64).page(&page);
//! assert_eq!(optimum, homenode_base::TotalCost(100 + 100 + 10 + 100));
//! # Ok::<(), homenode_coherence::ProtocolError>(())
//! ```
#![forbid(unsafe_code)]

pub mod effects;
pub mod hindsight;
pub mod history;
pub mod optimum;
pub mod oracle;
pub mod protocol;
pub mod protocols;

pub use effects::{EFFECTS, Effect, Effects, PROTOCOLS};
pub use protocol::{PageEngine, Protocol};
pub use protocols::{Choice, ProtocolError};
