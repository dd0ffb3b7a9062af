//! # homenode-migrate: from decisions to system calls
//!
//! Moves pages of a running process in batches, reads back what became of each, and says where pages are.
//!
//! **Invariant:** what is reported as moved has been confirmed by the kernel page by page; a refused or half-done batch is
//! never counted as done.
//!
//! Reading order: this file.
#![forbid(unsafe_code)]
