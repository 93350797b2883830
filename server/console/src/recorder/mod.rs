//! Captures while they run.
