//! Everything that speaks HTTP.
