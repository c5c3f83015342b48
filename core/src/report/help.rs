//! What to do: sentences, and lines to paste, which keep their breaks.

use super::document::Block;
use super::label::Label;
use super::text::{Prose, Verbatim};
use super::words;

/// Pieces beyond these are dropped: a help of ours has three.
const PIECES_SHOWN: usize = 6;

/// Lines that are set off by so many spaces are to be pasted.
const INDENTATION: &str = "    ";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// One paragraph, in one line.
    Sentences(String),
    /// Without the indentation that they share.
    Pasted(Vec<String>),
}

/// Paragraphs end at a blank line. The text is as hostile as it was.
fn pieces(help: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut goes_on = false;
    for line in help.lines() {
        if line.trim().is_empty() {
            goes_on = false;
            continue;
        }
        let is_pasted = line.starts_with(INDENTATION);
        let is_full = pieces.len() == PIECES_SHOWN;
        match pieces.last_mut() {
            Some(Piece::Sentences(text)) if goes_on && !is_pasted => {
                text.push(' ');
                text.push_str(line.trim());
            }
            Some(Piece::Pasted(lines)) if goes_on && is_pasted => lines.push(line.to_owned()),
            _ if is_full => break,
            _ if is_pasted => pieces.push(Piece::Pasted(vec![line.to_owned()])),
            _ => pieces.push(Piece::Sentences(line.trim().to_owned())),
        }
        goes_on = true;
    }
    for piece in &mut pieces {
        if let Piece::Pasted(lines) = piece {
            set_to_the_left(lines);
        }
    }
    pieces
}

fn set_to_the_left(lines: &mut [String]) {
    let indentation = |line: &String| line.len() - line.trim_start_matches(' ').len();
    let shared = lines.iter().map(indentation).min().unwrap_or(0);
    for line in lines {
        line.drain(..shared);
    }
}

/// Paragraphs and lines to paste; the first line says that this is what to do.
pub(super) fn blocks(help: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for piece in pieces(help) {
        let label = match blocks.is_empty() {
            true => Label::Remedy,
            false => Label::More,
        };
        match piece {
            Piece::Sentences(text) => blocks.push(Block::line(label, sentence(&text))),
            Piece::Pasted(lines) => {
                if label == Label::Remedy {
                    blocks.push(Block::line(label, Prose::default()));
                }
                blocks.push(Block::Paste(Verbatim::new(lines)));
            }
        }
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
        assert_eq!(pieces(&long).len(), PIECES_SHOWN);
        let lines = "    b\n".repeat(1000);
        assert!(in_markdown(&lines)[1].contains("… 980 more lines"));
    }
}
