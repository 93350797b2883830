//! A fast hasher for small whole numbers.
