//! What every backend does with rows: looks at the files of a channel, and writes the drawn rows of each into a smaller file.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::canary::{DataObject, Objects};
use crate::grammar;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::rows::{
    Copied, CopyError, RangeSource, RowBlocks, RowFile, RowFormat, RowsProblem, copy_rows, inspect,
};
use crate::units::Bytes;

/// More objects are sampled as they are.
pub(super) const MOST_FILES: usize = 200;
/// Written at once.
const PIECE: usize = 1 << 20;

/// What Spark, macOS and others put beside their data, `_SUCCESS` and `._a.csv` for two. No canary gets it.
pub(super) fn is_beside_data(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    let has_no_rows = matches!(RowFormat::of_name(name), Err(RowsProblem::NotRows));
    name.starts_with(['_', '.']) && (has_no_rows || name.starts_with("._"))
}

/// A file whose rows are looked at: its bytes, its size, and what distinguishes this version of it.
pub(super) struct OpenFile<S> {
    pub(super) source: S,
    pub(super) bytes: Bytes,
    pub(super) version: String,
}

/// The blocks of the files of a channel. Fails where there are so many that nobody draws rows of each, where one has no rows, and
/// where there is one block only.
///
/// `field` is where the spec names the channel; `open` gets an object and its place in the listing.
pub(super) async fn blocks<S: RangeSource<Error = OutsideError>>(
    field: &str,
    objects: &Objects,
    open: impl Fn(usize, &DataObject) -> OutsideResult<OpenFile<S>>,
) -> OutsideResult<RowBlocks> {
    if objects.len() > MOST_FILES {
        return Err(OutsideError::of(format!(
            "{field}.sample: the channel has {} objects; rows are drawn of {MOST_FILES} at most",
            objects.len()
        ))
        .help("write `sample: true`: canaries draw whole objects then"));
    }
    let of_data = objects.iter().enumerate();
    let of_data = of_data.filter(|(_, object)| !is_beside_data(&object.key));
    let mut files = Vec::with_capacity(objects.len());
    for (place, object) in of_data {
        let file = open(place, object)?;
        let looked = inspect(&object.key, file.bytes, file.version, &file.source).await;
        files.push(looked.map_err(|error| explained(field, &object.key, error))?);
    }
    let blocks = RowBlocks::of(files);
    match (blocks.len(), &*blocks.files) {
        (0 | 1, [file, ..]) => {
            let problem = match file.format() {
                RowFormat::Parquet => RowsProblem::OneRowGroup,
                _ => RowsProblem::OneRow,
            };
            Err(refused(field, &file.key, &problem))
        }
        _ => Ok(blocks),
    }
}

/// Writes the drawn rows of every file that has some to the place that `target` gives it.
pub(super) async fn copy<S: RangeSource<Error = OutsideError>>(
    field: &str,
    drawn: &RowBlocks,
    open: impl Fn(&RowFile) -> OutsideResult<S>,
    target: impl Fn(usize, &RowFile) -> PathBuf,
) -> OutsideResult<Copied> {
    let mut all = Copied::default();
    for (index, blocks) in drawn.by_file() {
        let file = &drawn.files[index];
        let target = target(index, file);
        let explained = |error| match error {
            CopyError::Write(error) => cannot_write(&target, error),
            error => explained(field, &file.key, error),
        };
        let created = target.parent().map_or(Ok(()), fs::create_dir_all);
        let created = created.and_then(|()| File::create_new(&target));
        let created = created.map_err(|error| cannot_write(&target, error))?;
        let mut out = BufWriter::with_capacity(PIECE, created);
        let source = open(file)?;
        let copied = copy_rows(drawn, index, &blocks, &source, &mut out).await;
        let copied = copied.map_err(explained)?;
        out.flush().map_err(|error| cannot_write(&target, error))?;
        tracing::debug!("{}: {} of rows copied", file.key, copied.bytes);
        all = all + copied;
    }
    match all.bytes.0 {
        0 => Err(OutsideError::of(format!(
            "{field}.sample: this canary's draw holds not one row"
        ))
        .help("ask for larger `canary.fractions`: the channel has few rows")),
        _ => Ok(all),
    }
}

pub(super) fn cannot_write(path: &Path, source: std::io::Error) -> OutsideError {
    let help = "make the folder writable for the user that runs the gate";
    OutsideError::io(format!("could not write {}", path.display()), help, source)
}

/// Why rows of an object cannot be drawn.
pub(super) fn refused(field: &str, key: &str, problem: &RowsProblem) -> OutsideError {
    OutsideError::of(format!(
        "{field}.sample: rows of `{key}` cannot be drawn: {problem}"
    ))
    .help(problem.help())
}

fn explained(field: &str, key: &str, error: CopyError<OutsideError>) -> OutsideError {
    match error {
        CopyError::Read(error) => error,
        CopyError::Write(error) => cannot_write(Path::new(key), error),
        CopyError::Rows(problem) => refused(field, key, &problem),
    }
}

/// What a reader should know of blocks that were passed over.
pub(super) fn note_of_left(left: usize) -> Option<String> {
    (left > 0).then(|| {
        format!(
            "{} left, whose rows are longer than a block, lack fields of the header or have stray quotes",
            grammar::count(left, "drawn block") + if left == 1 { " was" } else { " were" }
        )
    })
}
