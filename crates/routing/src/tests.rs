//! The table against catalogs.
