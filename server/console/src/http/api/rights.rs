//! Who may read and change captures, and groups of people.
//!
//! A *right* is `{to, may}`: `to` is `"everybody"`, `{"person": NAME}`, `{"group": NAME}` (a group of this console), `{"proxy_group": NAME}`
//! or `{"oidc_group": NAME}` (one that the proxy in front or the provider tells of whoever logs in, spelt as there), `may` is `"read"` or
//! `"change"`. A list of them names who may beside the owner and admins; `null` is no list, and everybody who is logged in reads.
//!
//! * `GET /api/captures/{id}/rights` (operator: the owner; admin) → the list of a capture, and those of its tags.
//! * `PUT /api/captures/{id}/rights` (likewise) `{list}` → the same as it is now.
//! * `GET /api/rights` (admin) → lists of tags, and groups.
//! * `PUT /api/rights/tags/{tag}` (admin) `{list}` → the same as it is now.
//! * `PUT /api/rights/groups/{name}` (admin) `{people}` makes a group, or makes it one of these people → lists of tags, and groups.
//! * `DELETE /api/rights/groups/{name}` (admin) removes a group, and what was given to it.

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, shown};
use bathyscope_store::{CaptureLabels, GivenRight, RightsObject};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Admin, InPerson, Operator, Who},
        error::ApiError,
        extract::{self, Path},
        state::{AppState, to_its_end},
    },
    captures::{CapturePath, may_change},
};
use crate::rights::rights_words;

/// A list that is to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct AskedRights {
    list: Option<Vec<GivenRight>>,
}

/// The list of a tag.
#[derive(Serialize)]
pub(in crate::http) struct TagRights {
    /// The tag.
    tag: String,
    /// Who may read and change captures that have it, beside their owners and admins.
    list: Vec<GivenRight>,
}

/// A group of people.
#[derive(Serialize)]
pub(in crate::http) struct GroupItem {
    /// Its name.
    name: String,
    /// Who is in it.
    people: Vec<String>,
}

/// Who may read and change a capture.
#[derive(Serialize)]
pub(in crate::http) struct CaptureRights {
    /// Whose it is.
    owner: String,
    /// Its own list; none if it has none, and those of its tags count.
    list: Option<Vec<GivenRight>>,
    /// Lists of its tags, which count while it has none of its own: each must let somebody read.
    tags: Vec<TagRights>,
    /// Links that show it to people without a login, whoever may read it here.
    links: u64,
    /// Names of accounts.
    people: Vec<String>,
    /// Names of groups.
    groups: Vec<String>,
    /// Groups elsewhere.
    elsewhere: GroupsElsewhere,
}

/// Who tells of groups that people are in elsewhere, to which rights can be given.
#[derive(Serialize)]
pub(in crate::http) struct GroupsElsewhere {
    /// Groups of the proxy in front that have a role; others can be named too. None if it tells of none.
    proxy: Option<Vec<String>>,
    /// The same of the provider; none if people do not log in by one.
    oidc: Option<Vec<String>>,
    /// What people call the provider; none likewise.
    provider: Option<String>,
}

fn elsewhere(state: &AppState) -> GroupsElsewhere {
    GroupsElsewhere {
        proxy: state.proxy_users().and_then(|proxy| Some(proxy.groups()?.map(str::to_owned).collect())),
        oidc: state.oidc().map(|oidc| oidc.groups().map(str::to_owned).collect()),
        provider: state.oidc().map(|oidc| oidc.name().to_owned()),
    }
}

/// Lists of tags, and groups.
#[derive(Serialize)]
pub(in crate::http) struct RightsPage {
    /// Tags that have a list.
    tags: Vec<TagRights>,
    /// All groups.
    groups: Vec<GroupItem>,
    /// Names of accounts.
    people: Vec<String>,
    /// Groups elsewhere.
    elsewhere: GroupsElsewhere,
}

/// Goes on only for the owner and admins: who has been given a right gives none to others.
async fn admit(state: &AppState, who: &Who, id: CaptureId) -> Result<String, ApiError> {
    let owner = state.store().capture(id).await?.owner;
    if may_change(who, &owner) { Ok(owner) } else { Err(ApiError::not_found()) }
}

async fn people(state: &AppState) -> Result<Vec<String>, ApiError> {
    Ok(state.people().list().await?.into_iter().map(|person| person.name).collect())
}

async fn of_capture(state: &AppState, id: CaptureId, owner: &str) -> Result<CaptureRights, ApiError> {
    let store = state.store();
    let CaptureLabels { tags, .. } = store.labels(id).await?;
    let lists = store.tag_rights().await?.into_iter().filter(|(tag, _)| tags.contains(tag));
    let links = state.shares().list(None).await?;
    Ok(CaptureRights {
        owner: shown(owner),
        list: store.capture_rights(id).await?,
        tags: lists.map(|(tag, list)| TagRights { tag, list }).collect(),
        links: links.iter().filter(|link| link.capture == Some(id)).count() as u64,
        people: people(state).await?,
        groups: store.groups().await?.into_keys().collect(),
        elsewhere: elsewhere(state),
    })
}

/// Tells who may read and change a capture.
pub(in crate::http) async fn capture(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<CaptureRights>, ApiError> {
    let owner = admit(&state, &who, id).await?;
    Ok(Json(of_capture(&state, id, &owner).await?))
}

/// Says who may read and change a capture.
pub(in crate::http) async fn set_capture(
    InPerson(Operator(who)): InPerson<Operator>,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    extract::Json(AskedRights { list }): extract::Json<AskedRights>,
) -> Result<Json<CaptureRights>, ApiError> {
    let owner = admit(&state, &who, id).await?;
    let setting = async move {
        let words = rights_words(list.as_deref());
        state.store().set_rights(RightsObject::Capture(id), list).await?;
        state.audit(&who.session, "rights.capture", &id.to_string(), &words).await;
        of_capture(&state, id, &owner).await
    };
    Ok(Json(to_its_end(setting).await??))
}

async fn all(state: &AppState) -> Result<RightsPage, ApiError> {
    let tags = state.store().tag_rights().await?.into_iter().map(|(tag, list)| TagRights { tag, list }).collect();
    let groups = state.store().groups().await?.into_iter().map(|(name, people)| GroupItem { name, people }).collect();
    Ok(RightsPage { tags, groups, people: people(state).await?, elsewhere: elsewhere(state) })
}

/// Lists rights by tag, and groups of people.
pub(in crate::http) async fn page(
    _: InPerson<Admin>,
    State(state): State<AppState>,
) -> Result<Json<RightsPage>, ApiError> {
    Ok(Json(all(&state).await?))
}

/// The tag in a path.
#[derive(Deserialize)]
pub(in crate::http) struct TagPath {
    tag: String,
}

/// Says who may read and change captures that have a tag.
pub(in crate::http) async fn set_tag(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(TagPath { tag }): Path<TagPath>,
    extract::Json(AskedRights { list }): extract::Json<AskedRights>,
) -> Result<Json<RightsPage>, ApiError> {
    let setting = async move {
        let words = rights_words(list.as_deref());
        state.store().set_rights(RightsObject::Tag(tag.clone()), list).await?;
        state.audit(&who.session, "rights.tag", &shown(&tag), &words).await;
        all(&state).await
    };
    Ok(Json(to_its_end(setting).await??))
}

/// The group in a path.
#[derive(Deserialize)]
pub(in crate::http) struct GroupPath {
    name: String,
}

/// Who is in a group.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct AskedGroup {
    people: Vec<String>,
}

/// Makes a group of people, or says who is in it.
pub(in crate::http) async fn set_group(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(GroupPath { name }): Path<GroupPath>,
    extract::Json(AskedGroup { people }): extract::Json<AskedGroup>,
) -> Result<Json<RightsPage>, ApiError> {
    let setting = async move {
        let words = shown(&people.join(", "));
        state.store().set_group(name.clone(), people).await?;
        state.audit(&who.session, "group.set", &shown(&name), &words).await;
        all(&state).await
    };
    Ok(Json(to_its_end(setting).await??))
}

/// Removes a group of people.
pub(in crate::http) async fn remove_group(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(GroupPath { name }): Path<GroupPath>,
) -> Result<StatusCode, ApiError> {
    let removing = async move {
        if !state.store().remove_group(name.clone()).await? {
            return Err(ApiError::not_found());
        }
        state.audit(&who.session, "group.remove", &shown(&name), "").await;
        Ok(())
    };
    to_its_end(removing).await??;
    Ok(StatusCode::NO_CONTENT)
}
