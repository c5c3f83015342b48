//! Which tables the files of a channel are parts of, where whole files are drawn.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

use flate2::read::GzDecoder;
use futures_util::FutureExt;

use super::channel::LocalChannel;
use crate::backend::rows::{MOST_FILES, is_beside_data};
use crate::canary::Objects;
use crate::grammar::distinct;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::rows::{RangeSource, RowFile, inspect};
use crate::units::Bytes;

/// So much of a compressed file is unpacked.
const UNPACKED: u64 = 64 * Bytes::KIB;

/// The beginning of a compressed file.
struct Unpacked(Vec<u8>);

impl RangeSource for Unpacked {
    type Error = OutsideError;

    async fn read(&self, range: Range<u64>) -> OutsideResult<Vec<u8>> {
        let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(0));
        Ok(self.0.get(start..end).unwrap_or_default().to_vec())
    }
}

impl LocalChannel<'_> {
    /// Of files whose names differ in digits alone one, with the columns of the first and the last; of those with one header one.
    pub(super) fn tables(&self, objects: &Objects) -> Vec<RowFile> {
        let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for object in objects.iter().filter(|object| !is_beside_data(&object.key)) {
            let name = (object.key).replace(|one: char| one.is_ascii_digit(), "");
            alike.entry(name).or_default().push(&object.key);
        }
        let step = alike.len().div_ceil(MOST_FILES).max(1);
        let tables = alike.into_values().step_by(step).filter_map(|files| {
            let ends = [files.first(), files.last()].into_iter().flatten();
            let files = distinct(ends).into_iter();
            let files = files.filter_map(|key| self.looked_at(key));
            files.reduce(|mut table, more| {
                if table.columns != more.columns {
                    table.columns.extend(more.columns);
                }
                table
            })
        });
        let mut tables = Vec::from_iter(tables);
        tables.dedup_by(|a, b| a.columns == b.columns);
        tables
    }

    fn looked_at(&self, key: &str) -> Option<RowFile> {
        let file = self.open(key).ok()?;
        let plain = key.strip_suffix(".gz").unwrap_or(key);
        let name = plain.rsplit('/').next().unwrap_or(plain);
        // As Spark writes CSV.
        let is_unnamed = name.starts_with("part-") && !name.contains('.');
        let name = format!("{plain}{}", if is_unnamed { ".csv" } else { "" });
        let looked = if plain == key {
            inspect(&name, file.bytes, file.version, &file.source).now_or_never()
        } else {
            let mut beginning = Vec::new();
            let mut unpacked = GzDecoder::new(&file.source.file).take(UNPACKED);
            unpacked.read_to_end(&mut beginning).ok()?;
            let bytes = Bytes(beginning.len() as u64);
            inspect(&name, bytes, file.version, &Unpacked(beginning)).now_or_never()
        };
        let key = key.to_owned();
        looked?.ok().map(|table| RowFile { key, ..table })
    }
}
