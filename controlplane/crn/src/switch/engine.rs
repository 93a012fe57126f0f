//! What runs the program, as the command line says it.

use softswitch::Engine;

/// [`Engine`] by name.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub enum EngineName {
    /// The interpreter for the first 10,000 packets, then native code
    Automatic,
    /// Native code from the first packet on, where the processor is known
    Native,
    /// The interpreter always
    Interpreter,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Engine {
        match name {
            EngineName::Automatic => Engine::Automatic,
            EngineName::Native => Engine::Native,
            EngineName::Interpreter => Engine::Interpreter,
        }
    }
}
