//! Which stream of another capture has the same rows.

use bathyscope_capture::{ColumnType, StreamSchema};

use crate::{Source, ViewError, scan::schema_of};

/// The stream among `free` ones of `others` that has the rows of `schema`: of its name and of its source, or of another source, as a
/// source may have another id there.
pub(crate) fn same_stream_of(
    schema: &StreamSchema,
    others: &[StreamSchema],
    free: impl Iterator<Item = u16> + Clone,
) -> Option<u16> {
    let is_same = |other: &StreamSchema, by_source: bool| {
        other.name == schema.name
            && other.derived.is_some() == schema.derived.is_some()
            && other.kind == schema.kind
            && (!by_source || other.source == schema.source)
    };
    let find = |by_source| {
        let mut free = free.clone();
        free.find(|other| others.get(usize::from(*other)).is_some_and(|other| is_same(other, by_source)))
    };
    find(true).or_else(|| find(false))
}

/// The stream of another capture that has the same rows as `stream` here.
///
/// # Errors
/// If there is no such stream here, or none there.
pub fn matching_stream(here: &dyn Source, stream: u16, there: &dyn Source) -> Result<u16, ViewError> {
    let schema = schema_of(here, stream)?;
    let others = there.streams();
    let all = (0_u16..).zip(others).filter(|(_, other)| !other.is_absent()).map(|(other, _)| other);
    same_stream_of(schema, others, all).ok_or_else(|| no_matching_stream(here, stream))
}

/// That the other capture has nothing that is the same as `stream` here.
pub fn no_matching_stream(here: &dyn Source, stream: u16) -> ViewError {
    schema_of(here, stream)
        .map_or_else(|error| error, |schema| ViewError::AgainstStream(bathyscope_capture::shown(&schema.name)))
}

/// Goes on only if columns are of the same type on both sides, as else one is not what the other is.
///
/// # Errors
/// If one is missing there, or is of another type, or has stacks, which have other numbers in each capture.
pub fn same_columns(
    (here, stream): (&dyn Source, u16),
    (there, other): (&dyn Source, u16),
    names: &[String],
) -> Result<(), ViewError> {
    let (here, there) = (schema_of(here, stream)?, schema_of(there, other).map_err(ViewError::of_other)?);
    let type_of = |schema: &StreamSchema, name: &str| {
        let column = schema.column(name).and_then(|at| schema.columns.get(at));
        column.map(|column| column.ty).ok_or_else(|| crate::filter::no_such_column(schema, name))
    };
    for name in names {
        let (one, two) = (type_of(here, name)?, type_of(there, name).map_err(ViewError::of_other)?);
        if one != two {
            return Err(ViewError::AgainstColumn(name.clone()));
        }
        if one == ColumnType::Stack {
            return Err(ViewError::AgainstStack(name.clone()));
        }
    }
    Ok(())
}
