//! Posting the comment: ours is updated, never doubled, and never made older.
