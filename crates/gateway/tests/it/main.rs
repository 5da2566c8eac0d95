//! Stories told to the real program.
