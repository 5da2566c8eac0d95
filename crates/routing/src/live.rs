//! The one object both planes share: load the snapshot in force, publish the next.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};

use crate::Table;

/// Called after a publication with the table before and the table after. Must not block.
pub type Observer = Box<dyn Fn(&Table, &Table) + Send + Sync>;

/// Holds the table in force.
pub struct Live {
    table: ArcSwap<Table>,
    observers: Mutex<Vec<Observer>>,
}

impl Live {
    /// Starts with a table.
    pub fn new(table: Table) -> Self {
        Self { table: ArcSwap::from_pointee(table), observers: Mutex::new(Vec::new()) }
    }

    /// Returns the table in force, for as long as one request needs it. Takes no lock.
    pub fn load(&self) -> Guard<Arc<Table>> {
        self.table.load()
    }

    /// Returns the table in force, to be kept.
    pub fn full(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Puts the next table in force; every request that arrives from now on sees it.
    pub fn publish(&self, table: Arc<Table>) {
        // Held across the swap, so that observers see publications in their order.
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.table.swap(table.clone());
        for observer in observers.iter() {
            observer(&old, &table);
        }
    }

    /// Has an observer told of each publication from now on.
    pub fn subscribe(&self, observer: Observer) {
        self.observers.lock().unwrap_or_else(PoisonError::into_inner).push(observer);
    }
}

#[cfg(test)]
mod tests;
