//! An investigation as a file: its page with pictures of views, and the views themselves, which open in their places. What a view asks
//! for is in the file as in that of a capture; one for which there is no room, time or right stays a picture, and says why.

use std::time::Instant;

use bathyscope_store::InvestigationId;
use serde::Serialize;

use super::{
    super::{
        access::{InvestigationReader, Reader},
        api::investigation_file::{FileBlock, FilePage, page_for_file, picture_for_file},
        error::{ApiError, ErrorKind},
        state::AppState,
    },
    AskedFile, FileMaker, MadeFile, MostBytes, SQL, SavedView,
    ask::megabytes,
    view::KeptView,
};

/// The least room that a further tab of a view is read for.
const LEAST_BYTES: usize = 1_000_000;
/// Tabs that a view has beside its own, where there is room.
const FURTHER_TABS: [&str; 3] = ["events", "timeline", "flame"];

/// The page of an investigation in a file.
#[derive(Debug, Serialize)]
pub(super) struct SavedInvestigation {
    id: InvestigationId,
    /// Views that are only pictures.
    pictures: Vec<OnlyPicture>,
    answers: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct OnlyPicture {
    block: InvestigationId,
    why: String,
}

/// The file of an investigation.
///
/// # Errors
/// If it cannot be read, or the file would be too large without any view.
pub(in crate::http) async fn investigation_file(
    (mut maker, state): (FileMaker, &AppState),
    (reader, id): (&InvestigationReader, InvestigationId),
    page: Option<String>,
) -> Result<MadeFile, ApiError> {
    let FilePage { title, json, blocks } = page_for_file(state, reader, id).await?;
    let base = format!("/api/investigations/{id}");
    let mut answers = vec![maker.answers.keep(&base, "json", &json)?];
    for block in &blocks {
        let picture = picture_for_file(state, reader, (id, block.id)).await;
        // What could not be drawn is said at its place.
        if let Ok(svg) = picture {
            let address = format!("{base}/blocks/{}/picture?v={}", block.id, block.version);
            answers.push(maker.answers.keep(&address, "bytes", &svg)?);
        }
    }
    let (mut views, mut pictures) = (Vec::new(), Vec::new());
    for block in blocks.iter().filter(|block| block.opens) {
        match maker.view_of(reader, block, &blocks).await? {
            Ok(view) => views.push((block, view)),
            Err(why) => {
                maker.left_out.push(format!("The view of block {} is only a picture: {why}.", block.number));
                pictures.push(OnlyPicture { block: block.id, why: format!("Only a picture: {why}.") });
            }
        }
    }
    for (block, view) in &mut views {
        maker.add_tabs(reader, block, view).await;
    }
    let views: Vec<SavedView> = views.into_iter().map(|(_, view)| view).collect();
    let investigation = SavedInvestigation { id, pictures, answers };
    maker.write((&title, &id.to_string()), page, (Some(&investigation), &views))
}

impl FileMaker {
    /// The view of a block; else why it stays a picture.
    async fn view_of(
        &mut self,
        reader: &InvestigationReader,
        block: &FileBlock,
        all: &[FileBlock],
    ) -> Result<Result<SavedView, String>, ApiError> {
        let Some(who) = reader.who() else {
            return Ok(Err("a link to an investigation shows its views so".to_owned()));
        };
        if KeptView::read(&block.view).text("tab") == "sql" {
            return Ok(Err(SQL.to_owned()));
        }
        if Instant::now() >= self.until {
            return Ok(Err("there was no time left to read it".to_owned()));
        }
        let before = self.answers.all().len();
        let most = MostBytes::of(self.most_bytes);
        let count = all.iter().filter(|block| block.opens).count().max(1);
        let most = MostBytes { windows: most.windows / count, ..most };
        let asked = AskedFile { view: block.view.clone(), tabs: Vec::new() };
        let read = self.read((Reader::of(who.clone()), block.capture), &asked, most).await;
        match read {
            Ok(view) => {
                self.say_of(block, &view.left_out);
                Ok(Ok(SavedView { block: Some(block.id.to_string()), ..view }))
            }
            Err(error) => {
                self.answers.truncate(before);
                let why = match error.kind {
                    ErrorKind::Internal => return Err(error),
                    ErrorKind::TooLarge => {
                        format!("with it the file would be larger than {}", megabytes(self.most_bytes))
                    }
                    ErrorKind::Conflict => "its capture is still recorded".to_owned(),
                    // Its words name the tab, in plain letters.
                    ErrorKind::Invalid if error.why.is_ascii() => error.why,
                    _ => "its capture cannot be read".to_owned(),
                };
                Ok(Err(why))
            }
        }
    }

    /// Says once of a block what is not in the file.
    fn say_of(&mut self, block: &FileBlock, left_out: &[String]) {
        for words in left_out {
            let words = format!("Block {}: {words}", block.number);
            if !self.left_out.contains(&words) {
                self.left_out.push(words);
            }
        }
    }

    /// Gives a view further tabs, each if there is room and time for all of it.
    async fn add_tabs(&mut self, reader: &InvestigationReader, block: &FileBlock, view: &mut SavedView) {
        let Some(who) = reader.who() else { return };
        for tab in FURTHER_TABS {
            let most = MostBytes::of(self.most_bytes);
            let room = most.answers.saturating_sub(self.answers.bytes());
            if view.tabs.iter().any(|one| one == tab) || room < LEAST_BYTES || Instant::now() >= self.until {
                continue;
            }
            let before = self.answers.all().len();
            let asked = AskedFile { view: block.view.clone(), tabs: vec![tab.to_owned()] };
            let most = MostBytes { windows: room / 4, ..most };
            // A tab that the capture has not, or that is too large, is grey in the file.
            match self.read((Reader::of(who.clone()), block.capture), &asked, most).await {
                Ok(more) => {
                    view.tabs.push(tab.to_owned());
                    let new = more.answers.into_iter().filter(|number| !view.answers.contains(number));
                    let new: Vec<usize> = new.collect();
                    view.answers.extend(new);
                    self.say_of(block, &more.left_out);
                    let said = more.left_out.into_iter().filter(|words| !view.left_out.contains(words));
                    let said: Vec<String> = said.collect();
                    view.left_out.extend(said);
                }
                Err(_) => self.answers.truncate(before),
            }
        }
    }
}
