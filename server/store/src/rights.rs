//! Who may read and change a capture, where that is not as roles say.
//!
//! A capture without a list of its own, and without a tag that has one, is read by everybody who is logged in and changed by its owner.
//! A list says who else may: of a capture's own list nothing but that list counts. Where it has none, *every* list of its tags must
//! admit who reads, so that another tag never shows more, and one of them must say that they may change it. The owner of a capture and
//! admins are in no need of a list, and in none can they be left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bathyscope_capture::CaptureId;
use serde::{Deserialize, Serialize};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::{
    GroupOrigin, LoginGroups, StoreError,
    error::failed,
    limits::{at_most, cut, limit},
    login_groups::is_group_name,
    read::state_of,
    rows::{sql, unreadable},
    select::{all, of},
    tags::tag_of,
};

const SAVING: &str = "saving who may read captures";
const READING: &str = "reading who may read captures";
/// What a list has for whoever owns the capture: it makes the list one, if nobody else is in it.
const OWNER: &str = "owner";

/// What somebody may do with a capture; each includes the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureRight {
    /// Read all of it.
    Read,
    /// And, for operators, what they may do with own captures.
    Change,
}

impl CaptureRight {
    /// The name that is kept: `read` or `change`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Change => "change",
        }
    }

    fn from_kept(text: &str) -> Result<Self, StoreError> {
        let found = [Self::Read, Self::Change].into_iter().find(|right| right.as_str() == text);
        found.ok_or_else(|| unreadable("a right to captures"))
    }
}

/// To whom a right is given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RightHolder {
    /// Everybody who is logged in.
    Everybody,
    /// Whoever is logged in by this name, however it is spelt.
    Person(String),
    /// All people of this group.
    Group(String),
    /// Whoever the proxy in front says is in this group of its own.
    ProxyGroup(String),
    /// Whoever the OpenID Connect provider says is in this group of its own.
    OidcGroup(String),
}

impl RightHolder {
    fn kept(&self) -> (&'static str, &str) {
        match self {
            Self::Everybody => ("everybody", ""),
            Self::Person(name) => ("person", name),
            Self::Group(name) => ("group", name),
            Self::ProxyGroup(name) => (GroupOrigin::Proxy.kind(), name),
            Self::OidcGroup(name) => (GroupOrigin::Oidc.kind(), name),
        }
    }

    fn from_kept(kind: &str, name: String) -> Result<Self, StoreError> {
        match kind {
            "everybody" => Ok(Self::Everybody),
            "person" => Ok(Self::Person(name)),
            "group" => Ok(Self::Group(name)),
            "proxy_group" => Ok(Self::ProxyGroup(name)),
            "oidc_group" => Ok(Self::OidcGroup(name)),
            _ => Err(unreadable("to whom a right is given")),
        }
    }

    /// Whether both are the same, however people and groups of this console are spelt.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Person(one), Self::Person(other)) | (Self::Group(one), Self::Group(other)) => {
                one.eq_ignore_ascii_case(other)
            }
            _ => self == other,
        }
    }
}

/// A line of a list: who may do what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GivenRight {
    /// Who.
    pub to: RightHolder,
    /// What.
    pub may: CaptureRight,
}

/// What a list is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RightsObject {
    /// One capture.
    Capture(CaptureId),
    /// The captures that have this tag and no list of their own.
    Tag(String),
}

/// Which captures somebody sees, and which of them they change: what roles say, narrowed and widened by lists.
#[derive(Clone, Debug, Default)]
pub struct Sight(Option<Arc<Narrow>>);

/// What somebody sees who does not see everything.
#[derive(Debug)]
struct Narrow {
    user: String,
    /// Groups elsewhere that they are in by their login.
    groups: Option<LoginGroups>,
    /// Whether there is any list.
    has_lists: bool,
    /// Tags whose lists do not admit them.
    closed_tags: Vec<String>,
    /// Tags whose lists let them change what has the tag.
    changed_tags: Vec<String>,
}

/// That a line of `capture_rights` or `tag_rights` is for somebody, whose name is bound twice.
fn push_admits(builder: &mut QueryBuilder<Sqlite>, user: &str, groups: Option<&LoginGroups>) {
    builder.push("(r.kind = 'everybody' OR (r.kind = 'person' AND r.name = ").push_bind(user.to_owned());
    builder.push(
        " COLLATE NOCASE) OR (r.kind = 'group' AND r.name COLLATE NOCASE IN (SELECT m.name FROM group_members m ",
    );
    builder.push("WHERE m.person = ").push_bind(user.to_owned()).push("))");
    if let Some(groups) = groups.filter(|groups| !groups.is_empty()) {
        builder.push(" OR (r.kind = ").push_bind(groups.origin.kind());
        builder.push(" AND r.name IN (SELECT value FROM json_each(").push_bind(groups.json()).push(")))");
    }
    builder.push(")");
}

fn push_tags(builder: &mut QueryBuilder<Sqlite>, tags: &[String]) {
    builder.push("(0");
    for tag in tags {
        builder.push(" OR instr(listed.tags, ").push_bind(format!(" {tag} ")).push(") > 0");
    }
    builder.push(")");
}

impl Narrow {
    fn push_own(&self, builder: &mut QueryBuilder<Sqlite>, least: CaptureRight) {
        builder.push("(listed.owner = ").push_bind(self.user.clone()).push(" OR CASE WHEN listed.has_rights THEN ");
        builder.push("EXISTS (SELECT 1 FROM capture_rights r WHERE r.capture_id = listed.capture_id AND ");
        push_admits(builder, &self.user, self.groups.as_ref());
        builder.push(if least == CaptureRight::Change { " AND r.may = 'change')" } else { ")" });
        builder.push(" ELSE NOT ");
        push_tags(builder, &self.closed_tags);
        if least == CaptureRight::Change {
            builder.push(" AND ");
            push_tags(builder, &self.changed_tags);
        }
        builder.push(" END)");
    }
}

impl Sight {
    /// Of admins, of terminals, and of the console itself: everything.
    pub const ALL: Self = Self(None);

    /// Whether there may be captures that are not seen.
    pub fn is_narrow(&self) -> bool {
        self.0.as_ref().is_some_and(|narrow| narrow.has_lists)
    }

    /// Adds to a statement that has `listed`, after a condition, that only what is seen is wanted.
    pub(crate) fn push_condition(&self, builder: &mut QueryBuilder<Sqlite>) {
        if let Some(narrow) = self.0.as_ref().filter(|narrow| narrow.has_lists) {
            builder.push(" AND ");
            narrow.push_own(builder, CaptureRight::Read);
        }
    }

    /// Adds an expression that says whether a row of `listed` may be changed.
    pub(crate) fn push_may_change(&self, builder: &mut QueryBuilder<Sqlite>) {
        match &self.0 {
            None => {
                builder.push("1");
            }
            Some(narrow) => narrow.push_own(builder, CaptureRight::Change),
        }
    }
}

/// What somebody sees who is no admin.
pub(crate) async fn sight(
    conn: &mut SqliteConnection,
    user: &str,
    groups: Option<&LoginGroups>,
) -> Result<Sight, StoreError> {
    let exists = "SELECT EXISTS (SELECT 1 FROM capture_rights) OR EXISTS (SELECT 1 FROM tag_rights)";
    let (has_lists,): (bool,) = sqlx::query_as(exists).fetch_one(&mut *conn).await.map_err(failed(READING))?;
    let (user, groups) = (user.to_owned(), groups.cloned());
    let mut narrow = Narrow { user, groups, has_lists, closed_tags: Vec::new(), changed_tags: Vec::new() };
    if has_lists {
        let mut builder = QueryBuilder::new("SELECT r.tag, max(CASE WHEN ");
        push_admits(&mut builder, &narrow.user, narrow.groups.as_ref());
        builder.push(" THEN CASE r.may WHEN 'change' THEN 2 ELSE 1 END ELSE 0 END) FROM tag_rights r GROUP BY r.tag");
        let rows: Vec<(String, i64)> = builder.build_query_as().fetch_all(conn).await.map_err(failed(READING))?;
        for (tag, most) in rows {
            match most {
                0 => narrow.closed_tags.push(tag),
                1 => {}
                _ => narrow.changed_tags.push(tag),
            }
        }
    }
    Ok(Sight(Some(Arc::new(narrow))))
}

/// What may be done with a capture that is shown or deleted.
pub(crate) async fn of_sight(
    conn: &mut SqliteConnection,
    id: CaptureId,
    sight: &Sight,
) -> Result<CaptureRight, StoreError> {
    let mut builder = QueryBuilder::new("SELECT ");
    sight.push_may_change(&mut builder);
    builder.push(" FROM listed WHERE listed.capture_id = ").push_bind(sql(id.bits()));
    sight.push_condition(&mut builder);
    let row: Option<(bool,)> = builder.build_query_as().fetch_optional(conn).await.map_err(failed(READING))?;
    match row {
        None => Err(StoreError::NoCapture { id }),
        Some((true,)) => Ok(CaptureRight::Change),
        Some((false,)) => Ok(CaptureRight::Read),
    }
}

/// The captures that are not seen, shown or deleted.
pub(crate) async fn unseen(conn: &mut SqliteConnection, sight: &Sight) -> Result<BTreeSet<CaptureId>, StoreError> {
    let Some(narrow) = sight.0.as_ref().filter(|narrow| narrow.has_lists) else { return Ok(BTreeSet::new()) };
    let mut builder = QueryBuilder::new("SELECT listed.capture_id FROM listed WHERE NOT ");
    narrow.push_own(&mut builder, CaptureRight::Read);
    let rows: Vec<(i64,)> = builder.build_query_as().fetch_all(conn).await.map_err(failed(READING))?;
    Ok(rows.into_iter().map(|(id,)| CaptureId::from_bits(crate::rows::unsigned(id))).collect())
}

type Line = (String, String, String);

/// The lines of a list, or none if there is no such list.
fn list(lines: Vec<Line>) -> Result<Option<Vec<GivenRight>>, StoreError> {
    if lines.is_empty() {
        return Ok(None);
    }
    let others = lines.into_iter().filter(|(kind, ..)| kind != OWNER);
    let given = |(kind, name, may): Line| {
        Ok(GivenRight { to: RightHolder::from_kept(&kind, name)?, may: CaptureRight::from_kept(&may)? })
    };
    let mut list = others.map(given).collect::<Result<Vec<_>, StoreError>>()?;
    list.sort();
    Ok(Some(list))
}

/// Who may read and change a capture by its own list; none if it has none.
pub(crate) async fn of_capture(
    conn: &mut SqliteConnection,
    id: CaptureId,
) -> Result<Option<Vec<GivenRight>>, StoreError> {
    list(all(conn, of("SELECT kind, name, may FROM capture_rights WHERE capture_id = ?", id), READING).await?)
}

/// The lists of all tags that have one.
pub(crate) async fn of_tags(conn: &mut SqliteConnection) -> Result<BTreeMap<String, Vec<GivenRight>>, StoreError> {
    let select = "SELECT tag, kind, name, may FROM tag_rights";
    let rows: Vec<(String, String, String, String)> =
        sqlx::query_as(select).fetch_all(conn).await.map_err(failed(READING))?;
    let mut lines: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for (tag, kind, name, may) in rows {
        lines.entry(tag).or_default().push((kind, name, may));
    }
    lines.into_iter().map(|(tag, lines)| Ok((tag, list(lines)?.unwrap_or_default()))).collect()
}

/// Refuses a list that is too long, names nobody, or names a group that there is not.
async fn check(conn: &mut SqliteConnection, given: &[GivenRight]) -> Result<(), StoreError> {
    if given.len() > limit::RIGHTS {
        let why = format!("it has at most {} lines; make a group of people", limit::RIGHTS);
        return Err(StoreError::Refused { what: "the list of who may read", why });
    }
    for GivenRight { to, .. } in given {
        let (kind, name) = to.kept();
        match to {
            RightHolder::Everybody => {}
            RightHolder::Person(name) | RightHolder::Group(name) => check_name(name)?,
            RightHolder::ProxyGroup(name) | RightHolder::OidcGroup(name) => check_elsewhere(name)?,
        }
        if kind == "group" && !is_group(conn, name).await? {
            return Err(StoreError::Refused { what: "a right", why: format!("there is no group `{name}`") });
        }
    }
    Ok(())
}

/// Refuses what cannot be the name of a person or group.
fn check_name(name: &str) -> Result<(), StoreError> {
    at_most("a name of a person or group", name.len(), limit::USER_BYTES)?;
    if name.is_empty() || name != name.trim() || name.chars().any(char::is_control) {
        let why = format!("`{}` is no name of a person or group", name.escape_debug());
        return Err(StoreError::Refused { what: "a right", why });
    }
    Ok(())
}

/// Refuses what cannot be the name of a group elsewhere. Whether there is such a group is not known here.
fn check_elsewhere(name: &str) -> Result<(), StoreError> {
    if is_group_name(name) {
        return Ok(());
    }
    let why = format!(
        "`{}` is no name of a group: it has 1 to {} bytes, no control characters and no blanks around it",
        cut(name, limit::LOGIN_GROUP_BYTES).escape_debug(),
        limit::LOGIN_GROUP_BYTES
    );
    Err(StoreError::Refused { what: "a right", why })
}

/// Says who may read and change a capture or what has a tag; with none it is as before.
pub(crate) async fn set(
    conn: &mut SqliteConnection,
    object: &RightsObject,
    given: Option<&[GivenRight]>,
) -> Result<(), StoreError> {
    check(conn, given.unwrap_or_default()).await?;
    let object = match object {
        RightsObject::Tag(tag) => &RightsObject::Tag(tag_of(tag)?),
        capture @ RightsObject::Capture(_) => capture,
    };
    let (delete, insert) = match object {
        RightsObject::Capture(id) => {
            state_of(conn, *id).await?;
            (
                "DELETE FROM capture_rights WHERE capture_id = ?",
                "INSERT OR REPLACE INTO capture_rights VALUES (?, ?, ?, ?)",
            )
        }
        RightsObject::Tag(tag) => {
            let select = "SELECT count(DISTINCT tag) FROM tag_rights WHERE tag <> ?";
            let (others,): (i64,) =
                sqlx::query_as(select).bind(tag).fetch_one(&mut *conn).await.map_err(failed(SAVING))?;
            if given.is_some() && others >= limit::TAG_LISTS {
                let why = format!("at most {} tags have one; take one back first", limit::TAG_LISTS);
                return Err(StoreError::Refused { what: "the list of who may read", why });
            }
            ("DELETE FROM tag_rights WHERE tag = ?", "INSERT OR REPLACE INTO tag_rights VALUES (?, ?, ?, ?)")
        }
    };
    let bound = |statement: &'static str| match object {
        RightsObject::Capture(id) => of(statement, *id),
        RightsObject::Tag(tag) => sqlx::query(statement).bind(tag.clone()),
    };
    bound(delete).execute(&mut *conn).await.map_err(failed(SAVING))?;
    let Some(given) = given else { return Ok(()) };
    let owner = ((OWNER, ""), CaptureRight::Change);
    // Of several lines for one, the last counts.
    let last = |(at, one): &(usize, &GivenRight)| !given.iter().skip(at + 1).any(|later| later.to.is_same(&one.to));
    let lines = given.iter().enumerate().filter(last).map(|(_, one)| (one.to.kept(), one.may));
    for ((kind, name), may) in lines.chain([owner]) {
        let insert = bound(insert).bind(kind).bind(name.to_owned()).bind(may.as_str());
        insert.execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    Ok(())
}

async fn is_group(conn: &mut SqliteConnection, name: &str) -> Result<bool, StoreError> {
    let select = sqlx::query_as("SELECT 1 FROM groups WHERE name = ?").bind(name);
    let row: Option<(i64,)> = select.fetch_optional(conn).await.map_err(failed(READING))?;
    Ok(row.is_some())
}

/// All groups with their people.
pub(crate) async fn groups(conn: &mut SqliteConnection) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
    let select = "SELECT g.name, m.person FROM groups g LEFT JOIN group_members m ON m.name = g.name ORDER BY m.person";
    let rows: Vec<(String, Option<String>)> = sqlx::query_as(select).fetch_all(conn).await.map_err(failed(READING))?;
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, person) in rows {
        groups.entry(name).or_default().extend(person);
    }
    Ok(groups)
}

/// Makes a group of these people, or makes it one of these and nobody else.
pub(crate) async fn set_group(conn: &mut SqliteConnection, name: &str, people: &[String]) -> Result<(), StoreError> {
    for name in people.iter().map(String::as_str).chain([name]) {
        check_name(name)?;
    }
    let known = groups(conn).await?;
    let is_known = known.keys().any(|one| one.eq_ignore_ascii_case(name));
    let (most_groups, most_people) = (limit::GROUPS, limit::GROUP_MEMBERS);
    if people.len() > most_people || (!is_known && known.len() >= most_groups) {
        let why = format!("there are at most {most_groups} groups of at most {most_people} people");
        return Err(StoreError::Refused { what: "the group", why });
    }
    for statement in ["INSERT OR IGNORE INTO groups VALUES (?)", "DELETE FROM group_members WHERE name = ?"] {
        sqlx::query(statement).bind(name).execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    for person in people {
        let insert = sqlx::query("INSERT OR IGNORE INTO group_members VALUES (?, ?)").bind(name).bind(person);
        insert.execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    Ok(())
}

/// Removes a group, and what was given to it; `false` if there is none of this name. Lists that had it stay lists.
pub(crate) async fn remove_group(conn: &mut SqliteConnection, name: &str) -> Result<bool, StoreError> {
    for statement in [
        "DELETE FROM group_members WHERE name = ?",
        "DELETE FROM capture_rights WHERE kind = 'group' AND name = ? COLLATE NOCASE",
        "DELETE FROM tag_rights WHERE kind = 'group' AND name = ? COLLATE NOCASE",
    ] {
        sqlx::query(statement).bind(name).execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    let delete = sqlx::query("DELETE FROM groups WHERE name = ?").bind(name);
    Ok(delete.execute(conn).await.map_err(failed(SAVING))?.rows_affected() > 0)
}

/// Forgets what was given to somebody whose account is removed: who gets the name later is somebody else.
pub(crate) async fn forget_person(conn: &mut SqliteConnection, name: &str) -> Result<(), StoreError> {
    for statement in [
        "DELETE FROM group_members WHERE person = ?",
        "DELETE FROM capture_rights WHERE kind = 'person' AND name = ? COLLATE NOCASE",
        "DELETE FROM tag_rights WHERE kind = 'person' AND name = ? COLLATE NOCASE",
    ] {
        sqlx::query(statement).bind(name).execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    Ok(())
}
