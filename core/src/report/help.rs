//! What to do: sentences, and lines to paste, which keep their breaks.

use super::document::Block;
use super::text::{Prose, Verbatim};
use super::{Label, words};

/// Pieces beyond these are dropped: a help of ours has three.
const PIECES_SHOWN: usize = 6;

/// Lines that are set off by so many spaces are to be pasted.
const INDENTATION: &str = "    ";

/// Paragraphs, which end at a blank line, and lines to paste, without the indentation that they share; the first line says that this
/// is what to do. The text is as hostile as it was.
pub(super) fn blocks(help: &str) -> Vec<Block> {
    let is_pasted = |line: &&str| {
        let is_blank = line.trim().is_empty();
        (!is_blank).then(|| line.starts_with(INDENTATION))
    };
    let lines: Vec<&str> = help.lines().collect();
    let pieces = lines.chunk_by(|line, next| is_pasted(line) == is_pasted(next));
    let pieces = pieces.filter_map(|piece| Some((is_pasted(&piece[0])?, piece)));
    let mut blocks = Vec::new();
    for (is_pasted, piece) in pieces.take(PIECES_SHOWN) {
        let label = match blocks.is_empty() {
            true => Label::REMEDY,
            false => Label::MORE,
        };
        if !is_pasted {
            let lines: Vec<&str> = piece.iter().map(|line| line.trim()).collect();
            blocks.push(Block::line(label, sentence(&lines.join(" "))));
            continue;
        }
        if label == Label::REMEDY {
            blocks.push(Block::line(label, Prose::default()));
        }
        let indentation = |line: &&str| line.len() - line.trim_start_matches(' ').len();
        let shared = piece.iter().map(indentation).min().unwrap_or(0);
        let lines = piece.iter().map(|line| line[shared..].to_owned());
        blocks.push(Block::Paste(Verbatim::new(lines)));
    }
    blocks
}

/// A sentence of the program with its first letter large and its stop, in which backticks set code.
pub(super) fn sentence(text: &str) -> Prose {
    let (text, stop) = match text.trim() {
        whole if whole.ends_with(['.', '!', '?', '…']) => (whole, ""),
        whole => match whole.strip_suffix(':') {
            Some(opening) => (opening, ":"),
            None => (whole, "."),
        },
    };
    Prose::sentence(words::capitalized(text)).then(Prose::own(stop))
}

#[cfg(test)]
mod tests {
    use super::super::markdown;
    use super::*;

    const HELP: &str = "grant it:\n\n    permissions:\n      pull-requests: write\n\nA fork only reads,\nand so does Dependabot";

    fn in_markdown(help: &str) -> Vec<String> {
        blocks(help).iter().map(markdown::block).collect()
    }

    #[test]
    fn what_is_to_be_pasted_is_a_block_of_markdown() {
        assert_eq!(
            in_markdown(HELP).join("\n\n"),
            "**What to do.** Grant it:\n\n```text\npermissions:\n  pull-requests: write\n```\n\n\
             A fork only reads, and so does Dependabot."
        );
        assert_eq!(
            in_markdown("    paste\n    ``` this"),
            ["**What to do.**", "````text\npaste\n``` this\n````"]
        );
    }

    #[test]
    fn a_help_of_a_thousand_pieces_is_short() {
        let long = "a\n\n    b\n".repeat(1000);
        assert_eq!(in_markdown(&long).len(), PIECES_SHOWN);
        let lines = "    b\n".repeat(1000);
        assert!(in_markdown(&lines)[1].contains("… 980 more lines"));
    }
}
