//! What the browser gets: page templates and the files that they refer to, embedded in the binary.
//!
//! Pages are shells. They carry who is logged in and which page this is; everything else is fetched from the JSON API
//! by ES modules. The build joins those of each page into one file beside what all pages need (`build/bundle.rs`), and needs no
//! tool for it. So there is one way that event text reaches a page: as JSON, put on the page with `textContent`.
//!
//! Constraints: no I/O, no HTTP, no SQL. No inline handler, no `style` attribute, no `innerHTML` (a test looks for
//! them). This room must not know how captures are made or kept, nor which role may do what: it is told.

#![forbid(unsafe_code)]

pub mod assets;
// What the build does, so that its tests run.
#[cfg(test)]
#[path = "../build/bundle.rs"]
mod bundle;
pub mod pages;
pub mod samples;
pub mod saved;
#[cfg(test)]
#[path = "../build/shrink.rs"]
mod shrink;

pub use askama::{Error as RenderError, Template};
