//! What every backend does with rows: a look at the files of a channel, and the words for what is wrong with them.

use crate::backend::BackendError;
use crate::canary::Objects;
use crate::grammar;
use crate::rows::{CopyError, RowBlocks, RowFile, RowFormat, RowsProblem};

/// More objects are sampled as they are.
const MOST_FILES: usize = 200;

/// What Spark and others put beside their data, `_SUCCESS` for one. No canary gets it.
pub(super) fn is_beside_data(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    name.starts_with('_') || name.starts_with('.')
}

/// Fails where there are so many objects that nobody draws rows of each, or where one's name says that it has none.
///
/// `field` is where the spec names the channel.
pub(super) fn check_names(field: &str, objects: &Objects) -> Result<(), BackendError> {
    if objects.len() > MOST_FILES {
        return Err(BackendError::new(
            format!(
                "{field}.sample: the channel has {} objects; rows are drawn of {MOST_FILES} at most",
                objects.len()
            ),
            "write `sample: true`: canaries draw whole objects then",
        ));
    }
    for object in objects.iter().filter(|object| !is_beside_data(&object.key)) {
        RowFormat::of_name(&object.key).map_err(|problem| refused(field, &object.key, &problem))?;
    }
    Ok(())
}

/// The blocks of the files of a channel. Fails where there is only one.
pub(super) fn blocks_of(field: &str, files: Vec<RowFile>) -> Result<RowBlocks, BackendError> {
    let blocks = RowBlocks::of(files);
    match (blocks.len(), blocks.files()) {
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

/// Why rows of an object cannot be drawn.
pub(super) fn refused(field: &str, key: &str, problem: &RowsProblem) -> BackendError {
    BackendError::new(
        format!("{field}.sample: rows of `{key}` cannot be drawn: {problem}"),
        problem.help(),
    )
}

/// What went wrong with an object, in the words of where it lies or of what it is.
pub(super) fn explained<E>(
    field: &str,
    key: &str,
    error: CopyError<E>,
    of_place: impl FnOnce(E) -> BackendError,
) -> BackendError {
    match error {
        CopyError::Io(error) => of_place(error),
        CopyError::Rows(problem) => refused(field, key, &problem),
    }
}

/// Fails where a draw of a channel has not one row.
pub(super) fn check_drawn(field: &str, bytes: u64) -> Result<(), BackendError> {
    match bytes {
        0 => Err(BackendError::new(
            format!("{field}.sample: this canary's draw holds not one row"),
            "ask for larger `canary.fractions`: the channel has few rows",
        )),
        _ => Ok(()),
    }
}

/// What a reader should know of blocks that were passed over.
pub(super) fn note_of_left(left: usize) -> Option<String> {
    (left > 0).then(|| {
        format!(
            "{} left, whose rows are longer than a block, lack fields of the header or have stray quotes; others took their place",
            grammar::count(left, "drawn block") + if left == 1 { " was" } else { " were" }
        )
    })
}
