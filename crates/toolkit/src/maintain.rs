//! The commands that look after datasets, and the compiler wrapper.
use crate::Failure;
use std::ffi::OsString;

/// Language of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

/// Becomes the compiler, with the hooks; returns only if that fails.
pub fn compile(language: Language, args: &[OsString]) -> Result<u8, Failure> {
    let mode = match language {
        Language::C => homenode_hooks::Mode::Cc,
        Language::Cxx => homenode_hooks::Mode::Cxx,
    };
    Err(Failure::work(homenode_hooks::compile::exec(mode, args)))
}

pub struct MaintainDoc {
    pub warnings: Vec<String>,
}
impl MaintainDoc {
    pub fn to_json(&self) -> String {
        String::new()
    }
    pub fn to_text(&self) -> String {
        String::new()
    }
}
pub fn check(_: &std::path::Path, _: &mut dyn crate::Progress) -> Result<homenode_report::CheckDoc, Failure> {
    Err(Failure::work("x"))
}
pub fn recover(_: &std::path::Path) -> Result<MaintainDoc, Failure> {
    Err(Failure::work("x"))
}
pub fn compact(
    _: &std::path::Path,
    _: Option<&std::path::Path>,
    _: bool,
    _: &mut dyn crate::Progress,
) -> Result<MaintainDoc, Failure> {
    Err(Failure::work("x"))
}
