//! Ids of texts by what they say, made when it is first needed.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

use bathyscope_capture::StringId;
use bathyscope_views::Dictionaries;

/// The ids of each text; a damaged capture may have several of one.
pub(crate) struct TextIndex {
    hasher: RandomState,
    /// Hashes and ids, sorted.
    entries: Vec<(u64, StringId)>,
    /// Ids of texts that an earlier id has too, and that one.
    doubles: HashMap<StringId, StringId>,
}

impl TextIndex {
    pub(crate) fn new(dictionaries: &Dictionaries) -> Self {
        let hasher = RandomState::new();
        let texts = (1..=dictionaries.last_string()).filter_map(|id| Some((id, dictionaries.text(id)?)));
        let mut entries: Vec<_> = texts.map(|(id, text)| (hasher.hash_one(text), id)).collect();
        entries.sort_unstable();
        let mut index = Self { hasher, entries, doubles: HashMap::new() };
        index.doubles = index.find_doubles(dictionaries);
        index
    }

    fn find_doubles(&self, dictionaries: &Dictionaries) -> HashMap<StringId, StringId> {
        let runs = self.entries.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1);
        let mut doubles = HashMap::new();
        for run in runs {
            let mut firsts: HashMap<&[u8], StringId> = HashMap::new();
            for (_hash, id) in run {
                let first = dictionaries.text(*id).map(|text| *firsts.entry(text).or_insert(*id));
                if let Some(first) = first.filter(|first| first != id) {
                    doubles.insert(*id, first);
                }
            }
        }
        doubles
    }

    /// The ids of `text`, ascending.
    pub(crate) fn ids(&self, dictionaries: &Dictionaries, text: &[u8]) -> Vec<StringId> {
        let hash = self.hasher.hash_one(text);
        let from = self.entries.partition_point(|entry| entry.0 < hash);
        let same = self.entries.iter().skip(from).take_while(|entry| entry.0 == hash);
        same.map(|entry| entry.1).filter(|id| dictionaries.text(*id) == Some(text)).collect()
    }

    /// The one id that stands for all that say the same; 0 for what says nothing.
    pub(crate) fn canonical(&self, dictionaries: &Dictionaries, id: StringId) -> StringId {
        if self.doubles.is_empty() {
            return if dictionaries.text(id).is_some() { id } else { 0 };
        }
        match dictionaries.text(id) {
            Some(_) => self.doubles.get(&id).copied().unwrap_or(id),
            None => 0,
        }
    }
}
