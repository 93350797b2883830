//! Records of the ring.

use bathyscope_plan::{COMM_BYTES, HEADER_BYTES, Plan, Site, SiteField, Type};

use super::{
    Value,
    text::part_types,
    value::{integer, number32, slice, until_nul},
};

/// Why bytes are not what their description says. Nothing of the bytes is in the message: they may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DecodeError {
    /// There are fewer bytes than the description needs.
    #[error("there are fewer bytes than its description needs")]
    Short,
    /// There are more bytes than the largest record of the site has.
    #[error("there are more bytes than its description allows")]
    Long,
    /// The plan has no such site.
    #[error("it names a site that the script does not have")]
    Site,
    /// The description nests too deeply or is larger than memory.
    #[error("its description is invalid")]
    Type,
}

/// A record of the ring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Index in [`Plan::sites`].
    pub site: u32,
    /// Index in [`Plan::probes`]; it may be out of range.
    pub probe: u32,
    /// When, nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The CPU.
    pub cpu: u32,
    /// The thread's name, if records carry it, else empty.
    pub comm: Vec<u8>,
    /// One for each field of the site.
    pub values: Vec<Value>,
}

impl Record {
    /// The stacks that it refers to: whether of user space, and the id. What renders it needs their frames.
    pub fn stacks(&self, plan: &Plan) -> Vec<(bool, u64)> {
        let mut found = Vec::new();
        let fields = plan.sites.get(self.site as usize).map(|site| site.fields.as_slice()).unwrap_or_default();
        for (field, value) in fields.iter().zip(&self.values) {
            add_stacks(&field.ty, value, &mut found);
        }
        found
    }
}

/// Adds the stacks that a value refers to.
pub(super) fn add_stacks(ty: &Type, value: &Value, found: &mut Vec<(bool, u64)>) {
    match (ty, value) {
        (Type::Stack { user, .. }, Value::Stack { id, .. }) if *id != 0 => found.push((*user, *id)),
        (_, Value::List(parts)) => {
            part_types(ty).zip(parts).for_each(|((_, part), value)| add_stacks(part.ty(), value, found));
        }
        _ => {}
    }
}

/// Reads records.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    plan: &'a Plan,
}

impl<'a> Decoder<'a> {
    /// For the records of a script.
    pub fn new(plan: &'a Plan) -> Self {
        Self { plan }
    }

    /// Reads one record.
    ///
    /// # Errors
    /// If it does not fit the plan. The caller counts these.
    pub fn record(&self, bytes: &[u8]) -> Result<Record, DecodeError> {
        let index = number32(bytes, 0)?;
        let site = self.plan.sites.get(index as usize).ok_or(DecodeError::Site)?;
        // The ring fills up to 8 bytes.
        if bytes.len() > (site.max_bytes.max(site.fixed_bytes) as usize).saturating_add(7) {
            return Err(DecodeError::Long);
        }
        let comm = if self.plan.comm { until_nul(slice(bytes, HEADER_BYTES, COMM_BYTES)?) } else { &[] };
        Ok(Record {
            site: index,
            probe: number32(bytes, 4)?,
            time_ns: integer(slice(bytes, 8, 8)?),
            pid: number32(bytes, 16)?,
            tid: number32(bytes, 20)?,
            cpu: number32(bytes, 24)?,
            comm: comm.to_vec(),
            values: values(site, bytes)?,
        })
    }

    /// The site of a record.
    pub fn site(&self, record: &Record) -> Option<&'a Site> {
        self.plan.sites.get(record.site as usize)
    }
}

fn values(site: &Site, bytes: &[u8]) -> Result<Vec<Value>, DecodeError> {
    slice(bytes, 0, site.fixed_bytes.max(HEADER_BYTES))?;
    let mut at = site.fixed_bytes;
    site.fields.iter().map(|field| value(field, bytes, &mut at)).collect()
}

fn value(field: &SiteField, bytes: &[u8], at: &mut u32) -> Result<Value, DecodeError> {
    if !field.ty.has_length() {
        return Value::read(&field.ty, slice(bytes, field.offset, field.ty.bytes())?);
    }
    let begin = at.checked_next_multiple_of(4).ok_or(DecodeError::Type)?;
    let length = number32(bytes, begin)?;
    let content = slice(bytes, begin.saturating_add(4), length)?;
    *at = begin.saturating_add(4).saturating_add(length);
    Ok(match field.ty {
        Type::Buffer { .. } => Value::Buffer(content.to_vec()),
        _ => Value::Text(until_nul(content).to_vec()),
    })
}
