//! The kernel's types, as the inventory has read them.

use std::sync::Arc;

use bathyscope_catalog::types::Types;

use super::{
    Inventory, InventoryError,
    entry::prototype,
    kinds::Source,
    part::{Facts, Kernel},
};

/// The types of the kernel and of its modules. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KernelTypes(Arc<Kernel>);

impl KernelTypes {
    /// The types.
    pub fn types(&self) -> &Types {
        &self.0.types
    }

    /// A function as C declares it; none if no type tells.
    pub fn prototype(&self, module: Option<&str>, function: &str) -> Option<String> {
        let found = self.0.types.function(module, function)?;
        Some(prototype(&self.0.types, found.id, function))
    }
}

impl Inventory {
    /// The kernel's types.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn kernel_types(&self) -> Result<KernelTypes, InventoryError> {
        let read = self.read(Source::Kernel).await?;
        let kernel = read.parts.iter().find_map(|part| match &part.facts {
            Facts::Kernel(kernel) => Some(Arc::clone(kernel)),
            _ => None,
        });
        kernel.map(KernelTypes).ok_or(InventoryError::Missing { kind: "type" })
    }
}
