//! The texts of a sheet, each stored once.

use std::collections::HashMap;

/// The number of a text.
pub(super) type TextId = u32;

/// SheetTexts one after another. Cells refer to them by number, so that a shared text takes memory once.
#[derive(Debug, Default)]
pub(super) struct SheetTexts {
    bytes: String,
    /// The end of each text.
    ends: Vec<usize>,
    /// The numbers of the workbook's shared texts, by their address there.
    shared: HashMap<usize, TextId>,
}

impl SheetTexts {
    /// Adds a text.
    pub fn add(&mut self, text: &str) -> TextId {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
        // A sheet has fewer cells than numbers.
        (self.ends.len() - 1) as TextId
    }

    /// Adds a text that the workbook shares among cells, unless it was added before. It stays in its place until
    /// [`Self::end_sharing`].
    pub fn add_shared(&mut self, text: &str) -> TextId {
        let address = text.as_ptr() as usize;
        // All empty texts have the same address.
        if text.is_empty() {
            return self.add(text);
        }
        if let Some(known) = self.shared.get(&address) {
            return *known;
        }
        let id = self.add(text);
        self.shared.insert(address, id);
        id
    }

    /// Forgets the addresses of shared texts.
    pub fn end_sharing(&mut self) {
        self.shared = HashMap::new();
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The text of this number.
    pub fn get(&self, id: TextId) -> &str {
        let at = id as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }
}
