//! Which encodings and dictionaries a store has, as far as this process has needed them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use lakerace_io::wait::{lock, read_lock, write_lock};
use lakerace_io::{Error, Result};
use rusqlite::Connection;

use super::schema::check_sum;
use super::statement::{BoundValue, PreparedStatement};
use crate::encode::{Encoding, EncodingContext, TrainedDictionary, TrainingSamples};
use crate::options::{Compression, Options};

/// How new contents are encoded, and the number of that encoding in the store.
#[derive(Debug)]
pub(super) struct PutAs {
    pub(super) id: i64,
    pub(super) encoding: Encoding,
    pub(super) level: i32,
}

#[derive(Debug)]
pub(super) struct StoreCatalog {
    pub(super) toolbox: EncodingContext,
    known: RwLock<HashMap<i64, Arc<Encoding>>>,
    dictionaries: Mutex<HashMap<u32, Arc<TrainedDictionary>>>,
    /// Few, and asked for by every put.
    put: RwLock<Vec<(Compression, Arc<PutAs>)>>,
    /// Small contents that were put while there is no dictionary for them.
    samples: Mutex<TrainingSamples>,
}

impl StoreCatalog {
    pub(super) fn new(options: &Options) -> Result<Self> {
        Ok(Self {
            toolbox: EncodingContext::new(options)?,
            known: RwLock::default(),
            dictionaries: Mutex::default(),
            put: RwLock::default(),
            samples: Mutex::default(),
        })
    }

    /// The encoding of a number, ready to decode.
    pub(super) fn encoding(&self, id: i64, connection: &Connection) -> Result<Arc<Encoding>> {
        if let Some(known) = read_lock(&self.known).get(&id) {
            return Ok(Arc::clone(known));
        }
        let text = encoding_text(id, connection)?;
        let parsed = Arc::new(self.toolbox.parse(&text, &mut |id| self.dictionary(id, connection))?);
        write_lock(&self.known).insert(id, Arc::clone(&parsed));
        Ok(parsed)
    }

    pub(super) fn dictionary(&self, id: u32, connection: &Connection) -> Result<Arc<TrainedDictionary>> {
        let mut known = lock(&self.dictionaries);
        if let Some(known) = known.get(&id) {
            return Ok(Arc::clone(known));
        }
        let mut select =
            PreparedStatement::prepare(connection, "SELECT data, check_sum FROM dictionaries WHERE id=?1")?;
        let number = i64::from(id);
        let bytes = select.first(&[BoundValue::Int(number)], |row| {
            match check_sum(&number.to_le_bytes(), row.bytes(0)) == row.int(1) {
                true => Ok(row.bytes(0).to_vec()),
                false => Err(Error::corrupt(format!("dictionary {id} differs from what was written"))),
            }
        })?;
        let bytes = bytes.ok_or_else(|| Error::corrupt(format!("dictionary {id} is missing")))?;
        let made = Arc::new(TrainedDictionary::new(id, bytes)?);
        known.insert(id, Arc::clone(&made));
        Ok(made)
    }

    /// How contents of `compression` are put, where that is known.
    pub(super) fn put_as(&self, compression: Compression) -> Option<Arc<PutAs>> {
        let known = read_lock(&self.put);
        known.iter().find(|(of, _)| *of == compression).map(|(_, put_as)| Arc::clone(put_as))
    }

    pub(super) fn learn(&self, compression: Compression, put_as: PutAs) -> Arc<PutAs> {
        let put_as = Arc::new(put_as);
        let mut known = write_lock(&self.put);
        known.retain(|(of, _)| *of != compression);
        known.push((compression, Arc::clone(&put_as)));
        put_as
    }

    /// Forgets how contents are put, because a newer dictionary exists. Known encodings stay readable.
    pub(super) fn forget_put(&self) {
        write_lock(&self.put).clear();
    }

    /// Forgets everything: numbers may mean something else now.
    pub(super) fn forget(&self) {
        self.forget_put();
        write_lock(&self.known).clear();
        lock(&self.dictionaries).clear();
    }

    pub(super) fn samples(&self) -> MutexGuard<'_, TrainingSamples> {
        lock(&self.samples)
    }
}

/// The text of an encoding.
pub(super) fn encoding_text(id: i64, connection: &Connection) -> Result<String> {
    let mut select = PreparedStatement::prepare(connection, "SELECT encoding, check_sum FROM encodings WHERE id=?1")?;
    let text =
        select.first(&[BoundValue::Int(id)], |row| match check_sum(&id.to_le_bytes(), row.bytes(0)) == row.int(1) {
            true => row.str(0).map(str::to_owned),
            false => Err(Error::corrupt(format!("encoding {id} differs from what was written"))),
        })?;
    text.ok_or_else(|| Error::corrupt(format!("encoding {id} is missing")))
}
