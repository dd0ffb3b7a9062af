//! `hooks`: the compiler's `__tsan_*` calls, with this project's runtime behind them.
use super::Backend;

pub(crate) static SPEC: Backend = Backend {
    name: "hooks",
    summary: "programs built with `homenode cc` or `homenode c++`: every reference that the compiler instruments",
    sees: "Sees each load, store and atomic of the code compiled with `homenode cc` or `homenode c++`, with its source line, \
           synchronisation, threads, allocations and mappings, and what memory and string functions of the C library touch. \
           Does not see libraries compiled otherwise, nor stacks of functions whose variables stay in registers.",
    available,
    unasked: available,
    record: crate::exact::record,
};

fn available() -> Result<(), String> {
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        Ok(())
    } else {
        Err("the runtime supports x86-64 and aarch64 only".to_owned())
    }
}
