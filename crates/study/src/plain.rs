//! The plain engine, asked once per machine and block size: what everything else must equal.
