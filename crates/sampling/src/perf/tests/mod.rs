//! Records built byte by byte, machines from snapshots of their sysfs, and both together: raw ring bytes to page counts.
mod bytes;
mod machines;
mod pages;
mod sources;
mod spe;
