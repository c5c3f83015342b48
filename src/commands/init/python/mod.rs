//! What of Python can be read off without running it: calls with their literal arguments, and names that are assigned once.
//!
//! A tokenizer and a reader of literals, and no parser of the language. A parser (the crate `rustpython-parser` is the one on
//! crates.io) refuses a whole file for one line that it does not know: a cell with `%pip install`, Python 2, a newer grammar, a
//! file under edit. `init` wants the one call that is well, and each value that is not a literal becomes a guess anyway.

mod calls;
mod literal;
mod tokens;

pub(super) use calls::PythonFile;
pub(super) use literal::{PythonCall, PythonLiteral, PythonValue};
