//! Going through the rows of a range that satisfy a filter, chunk by chunk.
