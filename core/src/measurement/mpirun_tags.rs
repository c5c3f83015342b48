//! What `mpirun --tag-output`, which AWS's training toolkit asks for, puts before what a process prints.

use std::borrow::Cow;

const ENDS: [&str; 2] = ["]<stdout>:", "]<stderr>:"];

/// A line without the tag before each piece that mpirun read of a process's output, which is where a line begins or anywhere in it:
/// `[1,8]<stdout>:`, or with the host's name `[1,mpirank:8,algo-2]<stderr>:`.
pub fn without_tags(line: &str) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(line);
    for end in ENDS {
        if line.contains(end) {
            line = without(&line, end).into();
        }
    }
    line
}

fn without(line: &str, end: &str) -> String {
    let mut pieces = line.split(end).peekable();
    let mut text = String::new();
    while let Some(piece) = pieces.next() {
        let tag = piece.rfind('[').filter(|_| pieces.peek().is_some());
        text.push_str(tag.map_or(piece, |tag| &piece[..tag]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_taken_off_wherever_a_piece_begins() {
        for (line, printed) in [
            ("[1,0]<stdout>:loss 3 [ok]", "loss 3 [ok]"),
            ("[1,mpirank:8,algo-2]<stderr>:loss 3", "loss 3"),
            ("[1,0]<stdout>:los[1,0]<stdout>:s 3", "loss 3"),
            ("[1,0]<stdout>:a[1,1]<stderr>:b", "ab"),
            ("loss 3 [1,0]", "loss 3 [1,0]"),
            ("", ""),
        ] {
            assert_eq!(without_tags(line), printed);
        }
    }
}
