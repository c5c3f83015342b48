//! Rounds of looking and writing, until a look shows that nothing is left to write: the comment and the tracking issue are both
//! kept so, for nothing can be relied on that was read a moment ago.

use super::client::Github;
use super::error::GithubError;

/// How often it is looked whether everything is as it should be, while other runs write too.
const ROUNDS: usize = 12;

/// Waits between two looks become no longer from here on.
const LONGEST_PAUSE: usize = 3;

/// Goes on until a round says what became of it. `Err` where none did, with the trouble that ended them, if there was any.
pub(super) async fn until_done<T>(
    github: &Github,
    mut round: impl AsyncFnMut() -> Result<Option<T>, GithubError>,
) -> Result<T, Option<GithubError>> {
    for number in 0..ROUNDS {
        if number > 0 {
            // A list may lag behind what was written.
            github.pause(number.min(LONGEST_PAUSE)).await;
        }
        if let Some(done) = round().await.map_err(Some)? {
            return Ok(done);
        }
    }
    Err(None)
}

/// What became of `what`, the comment or the issue, where no round ended it: it was `written`, as far as is known, else the
/// trouble.
pub(super) fn as_written<T>(
    what: &'static str,
    written: Option<T>,
    trouble: Option<GithubError>,
    notes: &mut Vec<String>,
) -> Result<T, GithubError> {
    let Some(written) = written else {
        return Err(trouble.unwrap_or(GithubError::Unsettled { what }));
    };
    notes.push(match trouble {
        Some(error) => format!("the {what} was written, but not looked at again: {error}"),
        None => format!("other runs write the same {what} again and again"),
    });
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told_and_what_was_not_is_an_error_to_act_on() {
        let mut notes = Vec::new();
        let written = as_written("comment", Some(7), None, &mut notes).unwrap();
        assert_eq!(written, 7);
        assert_eq!(notes, ["other runs write the same comment again and again"]);
        let error = as_written::<u8>("issue", None, None, &mut notes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the issue is still not as it should be after several attempts"
        );
        assert!(error.help().contains("start the workflow again"));
    }
}
