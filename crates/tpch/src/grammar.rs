//! Sentences by TPC-H's grammar (specification 4.2.2.14).

use std::sync::LazyLock;

use tpchgen::distribution::{Distribution, Distributions};

use crate::random::{DrawSequence, FewNumbers, RangePick};

/// Bytes that hold the longest word and the space after it; as many are always copied, which is faster than their exact
/// number.
const WORD_BYTES: usize = 32;
/// No sentence is longer.
const SENTENCE_BYTES: usize = 512;

/// A word with a space after it.
#[derive(Clone, Copy)]
struct SpacedWord {
    bytes: [u8; WORD_BYTES],
    len: usize,
}

/// Words by weight: a draw picks one.
struct WeightedWords {
    by_weight: Vec<SpacedWord>,
    pick: FewNumbers,
}

/// Patterns by weight; a pattern's letters stand for words or phrases.
struct WeightedPatterns {
    by_weight: Vec<Vec<u8>>,
    pick: FewNumbers,
}

struct TextGrammar {
    sentences: WeightedPatterns,
    noun_phrases: WeightedPatterns,
    verb_phrases: WeightedPatterns,
    articles: WeightedWords,
    adjectives: WeightedWords,
    adverbs: WeightedWords,
    auxiliaries: WeightedWords,
    nouns: WeightedWords,
    prepositions: WeightedWords,
    terminators: WeightedWords,
    verbs: WeightedWords,
}

static GRAMMAR: LazyLock<TextGrammar> = LazyLock::new(TextGrammar::load);

/// Generates sentences of at least `bytes` bytes. `seed` is the state of the sequence at the start of a sentence.
pub(crate) fn text(seed: u32, bytes: usize) -> Vec<u8> {
    let mut writer = GrammarWriter { out: vec![0; bytes + SENTENCE_BYTES], at: 0, sequence: DrawSequence::after(seed) };
    let grammar = &*GRAMMAR;
    while writer.at < bytes {
        writer.sentence(grammar);
    }
    writer.out.truncate(writer.at);
    writer.out
}

/// The entries of a distribution, each as often as its weight says.
fn by_weight<T: Clone>(distribution: &Distribution, entry: impl Fn(&str) -> T) -> (Vec<T>, FewNumbers) {
    let mut entries = Vec::new();
    for (i, value) in distribution.get_values().iter().enumerate() {
        // The weights are running sums.
        entries.resize(distribution.get_weight(i).max(0) as usize, entry(value));
    }
    let pick = FewNumbers::new(0, entries.len() as i64 - 1);
    (entries, pick)
}

impl WeightedWords {
    fn from_distribution(distribution: &Distribution, ending: &str) -> Self {
        let (by_weight, pick) = by_weight(distribution, |word| {
            let text = format!("{word}{ending}");
            let mut bytes = [0; WORD_BYTES];
            let len = text.len().min(WORD_BYTES);
            bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
            SpacedWord { bytes, len }
        });
        Self { by_weight, pick }
    }
}

impl WeightedPatterns {
    fn from_distribution(distribution: &Distribution) -> Self {
        let letters = |pattern: &str| pattern.bytes().filter(|letter| *letter != b' ').collect();
        let (by_weight, pick) = by_weight(distribution, letters);
        Self { by_weight, pick }
    }
}

impl TextGrammar {
    fn load() -> Self {
        let all = Distributions::static_default();
        Self {
            sentences: WeightedPatterns::from_distribution(all.grammar()),
            noun_phrases: WeightedPatterns::from_distribution(all.noun_phrase()),
            verb_phrases: WeightedPatterns::from_distribution(all.verb_phrase()),
            articles: WeightedWords::from_distribution(all.articles(), " "),
            adjectives: WeightedWords::from_distribution(all.adjectives(), " "),
            adverbs: WeightedWords::from_distribution(all.adverbs(), " "),
            auxiliaries: WeightedWords::from_distribution(all.auxiliaries(), " "),
            nouns: WeightedWords::from_distribution(all.nouns(), " "),
            prepositions: WeightedWords::from_distribution(all.prepositions(), " the "),
            terminators: WeightedWords::from_distribution(all.terminators(), " "),
            verbs: WeightedWords::from_distribution(all.verbs(), " "),
        }
    }
}

struct GrammarWriter {
    out: Vec<u8>,
    at: usize,
    sequence: DrawSequence,
}

impl GrammarWriter {
    #[inline(always)]
    fn word(&mut self, words: &WeightedWords) {
        let word = &words.by_weight[words.pick.pick(self.sequence.draw()) as usize];
        if let Some(place) = self.out[self.at..].first_chunk_mut() {
            *place = word.bytes;
        }
        self.at += word.len;
    }

    #[inline(always)]
    fn pattern<'g>(&mut self, patterns: &'g WeightedPatterns) -> &'g [u8] {
        &patterns.by_weight[patterns.pick.pick(self.sequence.draw()) as usize]
    }

    fn sentence(&mut self, grammar: &TextGrammar) {
        for letter in self.pattern(&grammar.sentences) {
            match letter {
                b'V' => self.verb_phrase(grammar),
                b'N' => self.noun_phrase(grammar),
                b'P' => {
                    self.word(&grammar.prepositions);
                    self.noun_phrase(grammar);
                }
                // A terminator takes the place of the space before it.
                _ => {
                    self.at -= 1;
                    self.word(&grammar.terminators);
                }
            }
        }
    }

    #[inline(always)]
    fn verb_phrase(&mut self, grammar: &TextGrammar) {
        for letter in self.pattern(&grammar.verb_phrases) {
            self.word(match letter {
                b'D' => &grammar.adverbs,
                b'V' => &grammar.verbs,
                _ => &grammar.auxiliaries,
            });
        }
    }

    #[inline(always)]
    fn noun_phrase(&mut self, grammar: &TextGrammar) {
        for letter in self.pattern(&grammar.noun_phrases) {
            self.word(match letter {
                b'A' => &grammar.articles,
                b'J' => &grammar.adjectives,
                b'D' => &grammar.adverbs,
                b'N' => &grammar.nouns,
                // A comma takes the place of the space before it.
                _ => {
                    self.out[self.at - 1..=self.at].copy_from_slice(b", ");
                    self.at += 1;
                    continue;
                }
            });
        }
    }
}

/// Tells the length of each sentence and the state after it, while wanted.
#[cfg(test)]
pub(crate) fn walk(seed: u32, mut each: impl FnMut(usize, u32) -> bool) {
    let mut writer = GrammarWriter { out: vec![0; SENTENCE_BYTES], at: 0, sequence: DrawSequence::after(seed) };
    loop {
        writer.at = 0;
        writer.sentence(&GRAMMAR);
        if !each(writer.at, writer.sequence.seed()) {
            return;
        }
    }
}
