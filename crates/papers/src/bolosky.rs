//! Bolosky 1993, which is a crate of its own.
pub(crate) use homenode_thesis::SPEC;
