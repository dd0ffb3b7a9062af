//! Costs of trapped accesses and of changing what is allowed, for both kinds of traps: `cargo run --release -p homenode-sys
//! --example trap_speed`. The lowest of many short rounds counts, since others use the machine, too.
use homenode_sys::trap::on_trap;
use homenode_sys::views::{Allowed, Traps, Views};
use homenode_sys::words::memory_file;
use std::sync::atomic::Ordering;
use std::sync::{Barrier, OnceLock};
use std::time::Instant;

const AT: usize = 0x2000_0000_0000;
const PAGE: usize = 4096;
/// Few enough that a round ends before the scheduler gives the processor to somebody else.
const PAGES: u32 = 512;
const ROUNDS: usize = 300;
/// What is measured, the pages it is divided by, what comes before, and what counts.
type Step<'a> = (&'static str, u32, &'a dyn Fn(), &'a dyn Fn());
static VIEWS: OnceLock<Views> = OnceLock::new();

fn resolve(address: usize, is_write: bool) -> bool {
    let Some(views) = VIEWS.get() else { return false };
    let what = if is_write { Allowed::Writing } else { Allowed::Reading };
    address >= AT && views.allow(((address - AT) / PAGE) as u32, 1, what).is_ok()
}

fn main() {
    // A process each, since the heap is a global of the handler.
    for traps in [Traps::Userfaultfd, Traps::Mprotect] {
        match homenode_sys::fork::fork_alone() {
            Ok(homenode_sys::fork::Forked::Child) => {
                measure(traps);
                std::process::exit(0);
            }
            Ok(homenode_sys::fork::Forked::Parent(pid)) => {
                let handle = homenode_sys::process::PidFd::open(pid).expect("the child");
                while !handle.wait(std::time::Duration::from_secs(1)) {}
            }
            Err(error) => println!("{error}"),
        }
    }
}

fn measure(traps: Traps) {
    let bytes = u64::from(PAGES) * PAGE as u64;
    let file = memory_file("speed", bytes).expect("memory");
    let views = match Views::map(&file, AT, bytes, PAGE, Some(traps)) {
        Ok(views) => VIEWS.get_or_init(|| views),
        Err(error) => return println!("{traps:?}: {error}"),
    };
    on_trap(resolve, None).expect("handlers");
    for page in 0..PAGES as usize {
        views.words()[page * PAGE / 8].store(1, Ordering::Relaxed);
    }
    let all = |what| views.allow(0, PAGES, what).expect("allowed");
    let each = |what| (0..PAGES).for_each(|page| views.allow(page, 1, what).expect("allowed"));
    let every_other = |what| (0..PAGES).step_by(2).for_each(|page| views.allow(page, 1, what).expect("allowed"));
    println!("{traps:?}, microseconds a page");
    let half = PAGES / 2;
    let list: Vec<u32> = (0..PAGES).step_by(2).collect();
    let steps: [Step<'_>; 11] = [
        ("read fault", PAGES, &|| all(Allowed::Nothing), &|| touch(false)),
        ("write fault, reading was allowed", PAGES, &|| all(Allowed::Reading), &|| touch(true)),
        ("write fault, nothing was allowed", PAGES, &|| all(Allowed::Nothing), &|| touch(true)),
        ("range: nothing to reading", PAGES, &|| all(Allowed::Nothing), &|| all(Allowed::Reading)),
        ("range: nothing to writing", PAGES, &|| all(Allowed::Nothing), &|| all(Allowed::Writing)),
        ("range: reading to writing", PAGES, &|| all(Allowed::Reading), &|| all(Allowed::Writing)),
        ("range: writing to reading", PAGES, &|| written(all), &|| all(Allowed::Reading)),
        ("range: writing to nothing", PAGES, &|| written(all), &|| all(Allowed::Nothing)),
        ("one by one: writing to nothing", PAGES, &|| written(all), &|| each(Allowed::Nothing)),
        ("scattered, every other: reading to nothing", half, &|| read(all), &|| every_other(Allowed::Nothing)),
        ("scattered, all at once: reading to nothing", half, &|| read(all), &|| views.forbid(&list).expect("allowed")),
    ];
    for (name, pages, prepare, run) in steps {
        let best = (0..ROUNDS).map(|_| {
            prepare();
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6 / f64::from(pages)
        });
        println!("  {name:<44} {:8.3}", best.fold(f64::INFINITY, f64::min));
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for callers in (0..).map(|k| 1 << k).take_while(|callers| *callers <= processors) {
        let best = (0..ROUNDS / 10).map(|_| at_once(views, callers)).fold(f64::INFINITY, f64::min);
        println!("  {:<44} {best:8.3}", format!("a call, {callers} at once: writing and reading"));
    }
}

/// Microseconds a call of threads that change pages of their own all the time: figure 1.13 of Bilas and Singh.
fn at_once(views: &Views, callers: usize) -> f64 {
    const CALLS: u32 = 500;
    let begins = Barrier::new(callers);
    let call = |caller: usize| {
        let page = (caller * PAGES as usize / callers) as u32;
        begins.wait();
        let start = Instant::now();
        for _ in 0..CALLS / 2 {
            views.allow(page, 1, Allowed::Writing).expect("allowed");
            views.allow(page, 1, Allowed::Reading).expect("allowed");
        }
        start.elapsed().as_secs_f64()
    };
    let call = &call;
    let spent = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..callers).map(|caller| scope.spawn(move || call(caller))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).sum::<f64>()
    });
    spent * 1e6 / (callers as f64 * f64::from(CALLS))
}

fn written(all: impl Fn(Allowed)) {
    all(Allowed::Writing);
    touch(true);
}
fn read(all: impl Fn(Allowed)) {
    all(Allowed::Nothing);
    all(Allowed::Reading);
    touch(false);
}

/// Accesses every page as a program does.
fn touch(write: bool) {
    for page in 0..PAGES as usize {
        let word = (AT + page * PAGE) as *mut u64;
        if write {
            // SAFETY: inside the application's view, to which nothing of Rust refers; what is trapped is resolved.
            unsafe { word.write_volatile(2) };
        } else {
            // SAFETY: as above.
            std::hint::black_box(unsafe { word.read_volatile() });
        }
    }
}
