//! Placeholder head, written with the room.
