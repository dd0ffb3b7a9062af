//! What `homenode svm agent` is, for tests of this crate, which have no `homenode`.
use std::process::ExitCode;

fn main() -> ExitCode {
    match homenode_svmrun::agent() {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            eprintln!("homenode: {why}");
            ExitCode::FAILURE
        }
    }
}
