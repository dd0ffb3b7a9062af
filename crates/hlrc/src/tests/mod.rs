//! The protocol on a simulated cluster.
mod broken;
mod programs;
mod world;
