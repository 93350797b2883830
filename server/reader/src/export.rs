//! Captures and views of them in other formats, for downloads and for the verb `export`.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use bathyscope_capture::{CaptureId, visible};
use bathyscope_store::{CaptureRecord, Store, StoreError};
use bathyscope_views::{Cancel, NameColours, RowCursor, SeenRows, SvgOptions, TimeRange, ViewError};
use clap::ValueEnum;
use serde::Deserialize;

use crate::{view_query::ViewQuery, view_source::CaptureView};

/// Formats that a capture can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Stacks, one line each, with their count
    Folded,
    /// Rows as comma-separated values
    Csv,
    /// Rows as JSON objects, one a line
    Ndjson,
    /// Rows in the order of the table, its columns of neighbours too, as JSON arrays after one of the columns
    Rows,
    /// The flame graph as a self-contained file that zooms and searches
    Svg,
    /// The flame graph as a picture without script, to embed
    SvgPlain,
    /// The whole capture, to import elsewhere
    Bathy,
}

impl Format {
    /// The end of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Folded => "folded.txt",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Rows => "rows.ndjson",
            Self::Svg | Self::SvgPlain => "svg",
            Self::Bathy => "bathy",
        }
    }

    /// The value for `Content-Type`.
    pub fn mime(self) -> &'static str {
        match self {
            Self::Folded => "text/plain; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Ndjson | Self::Rows => "application/x-ndjson",
            Self::Svg | Self::SvgPlain => "image/svg+xml",
            Self::Bathy => "application/octet-stream",
        }
    }
}

/// Whether [`write()`] can begin: finds what is wrong with the query without reading rows.
///
/// # Errors
/// What is wrong.
pub fn check(view: &CaptureView, format: Format, query: &ViewQuery) -> Result<(), ViewError> {
    match format {
        Format::Csv | Format::Ndjson => {
            let cancel = Cancel::new(false);
            RowCursor::new(view, &query.rows(view)?, &cancel).map(drop)
        }
        Format::Rows => {
            let cancel = Cancel::new(false);
            SeenRows::new(view, &query.rows(view)?, &cancel).map(drop)
        }
        Format::Folded | Format::Svg | Format::SvgPlain => query.flame(view)?.weight.check(view),
        Format::Bathy => Ok(()),
    }
}

/// Writes a view. A whole capture ([`Format::Bathy`]) is [`whole_file`]'s work and gives nothing here.
///
/// # Errors
/// If the query does not fit, a chunk cannot be read, the output cannot be written, or `cancel` was set.
pub fn write(
    view: &CaptureView,
    format: Format,
    query: &ViewQuery,
    out: &mut dyn Write,
    cancel: &Cancel,
) -> Result<(), ViewError> {
    view.checked(write_unchecked(view, format, query, out, cancel))
}

fn write_unchecked(
    view: &CaptureView,
    format: Format,
    query: &ViewQuery,
    out: &mut dyn Write,
    cancel: &Cancel,
) -> Result<(), ViewError> {
    match format {
        Format::Csv => {
            bathyscope_formats::write_csv(&mut RowCursor::new(view, &query.rows(view)?, cancel)?, out).map(drop)
        }
        Format::Ndjson => {
            bathyscope_formats::write_ndjson(&mut RowCursor::new(view, &query.rows(view)?, cancel)?, out)?;
            missing_line(view.record()).map_or(Ok(()), |line| out.write_all(line.as_bytes()).map_err(ViewError::Write))
        }
        Format::Rows => write_seen(&mut SeenRows::new(view, &query.rows(view)?, cancel)?, out),
        Format::Folded => {
            let stacks = bathyscope_views::fold(view, &query.flame(view)?, cancel)?;
            bathyscope_formats::write_folded(&stacks, out)
        }
        Format::Svg | Format::SvgPlain => {
            let (down, by) = (query.is_down(), query.colours_by());
            let query = query.flame(view)?;
            let graph = bathyscope_views::flame(view, &query, cancel)?;
            let record = view.record();
            let range = TimeRange { start_ns: record.start_ns, end_ns: record.end_ns.max(record.start_ns + 1) };
            let colours = NameColours::of(view, range, cancel)?;
            let options =
                SvgOptions { down, by, script: format == Format::Svg, ..svg_options(record, query.width, colours) };
            out.write_all(bathyscope_views::svg(&graph, &options).as_bytes()).map_err(ViewError::Write)
        }
        Format::Bathy => Ok(()),
    }
}

/// A line with the columns, then a line for each row.
fn write_seen(rows: &mut SeenRows<'_>, out: &mut dyn Write) -> Result<(), ViewError> {
    let json = |error: serde_json::Error| ViewError::Write(error.into());
    serde_json::to_writer(&mut *out, &rows.columns()).map_err(json)?;
    out.write_all(b"\n").map_err(ViewError::Write)?;
    while let Some(some) = rows.next_rows()? {
        for row in some {
            serde_json::to_writer(&mut *out, &row).map_err(json)?;
            out.write_all(b"\n").map_err(ViewError::Write)?;
        }
    }
    Ok(())
}

/// What a capture lacks, in words; none if nothing was lost. Rows and stacks as other programs read them have no place for
/// it, so it is told beside them: in a header of the answer and the name of the file, or on standard error.
pub fn missing_words(record: &CaptureRecord) -> Option<String> {
    let ledger = &record.ledger;
    (ledger.lost_total() > 0 || ledger.is_lower_bound()).then(|| ledger.lost_words())
}

/// The last line of rows as JSON objects, if the capture lacks something: an object of one key, which no stream has as a column.
fn missing_line(record: &CaptureRecord) -> Option<String> {
    let words = missing_words(record)?;
    let (lost, at_least) = (record.ledger.lost_total(), record.ledger.is_lower_bound());
    let ledger = serde_json::json!({"bathyscope_ledger": {"lost": lost, "at_least": at_least, "words": words}});
    Some(format!("{ledger}\n"))
}

fn svg_options(record: &CaptureRecord, width: u32, colours: NameColours) -> SvgOptions {
    let seconds = jiff::Timestamp::from_nanosecond(i128::from(record.started_unix_ns)).unwrap_or_default();
    let when = seconds.strftime("%Y-%m-%d %H:%M:%S UTC");
    SvgOptions {
        colours,
        title: bathyscope_capture::shown(&record.title),
        subtitle: format!("{}, {when}", visible(record.host.hostname.as_bytes())),
        notice: missing_words(record).unwrap_or_default(),
        width,
        ..SvgOptions::default()
    }
}

/// The whole capture as an open file in `dir` that has no name any more: it is gone when it is closed.
///
/// # Errors
/// The store's, or if the file cannot be opened.
pub async fn whole_file(store: &Store, id: CaptureId, dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(format!("export-{id}-{}.bathy", random_name()?));
    let exported = store.export_file(id, &path).await;
    let opened = exported.and_then(|()| File::open(&path).map_err(|error| file_error("cannot open", &path, error)));
    if let Err(error) = std::fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "a short-lived file could not be removed");
    }
    opened
}

fn random_name() -> Result<String, StoreError> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random)
        .map_err(|error| file_error("cannot name", Path::new("a short-lived file"), io::Error::other(error)))?;
    Ok(format!("{:016x}", u64::from_le_bytes(random)))
}

fn file_error(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::File { doing, path: path.to_owned(), source }
}
