//! Compiles a function, keeps it, and runs it: the one place with unsafe code.
//!
//! What makes running it sound: the function has the type that it is called with, which [`compile`] itself has set;
//! Cranelift's verifier has passed it, so every address in it is one that [`Assembler`] computed; and [`Assembler`]
//! computes addresses only from the pointers given here and offsets that it has checked against [`Limits`], which
//! [`Code::run`] checks against what it is given, or against the lengths given here.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::offset_of;
use std::sync::Mutex;

use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};

use crate::{Assembler, Error, Limits};

/// What a run may touch besides the frame.
#[derive(Debug)]
pub struct Memory<'a> {
    /// Where each page starts in the cells.
    pub pages: &'a [u32],
    /// All pages' words; those of the first page, if any, stand for pages that nothing was written to.
    pub cells: &'a mut [u64],
    /// Octets.
    pub octets: &'a mut [u8],
}

/// [`Memory`] as the code sees it.
#[repr(C)]
struct Given<'a> {
    pages: *const u32,
    cells: *mut u64,
    cells_len: u64,
    octets: *mut u8,
    octets_len: u64,
    borrowed: PhantomData<&'a mut ()>,
}

/// Where the code finds what it is given.
pub(crate) mod field {
    use super::{Given, offset_of};

    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "offsets below 64")]
    const fn offset(n: usize) -> i32 {
        n as i32
    }

    pub(crate) const PAGES: i32 = offset(offset_of!(Given<'static>, pages));
    pub(crate) const CELLS: i32 = offset(offset_of!(Given<'static>, cells));
    pub(crate) const CELLS_LEN: i32 = offset(offset_of!(Given<'static>, cells_len));
    pub(crate) const OCTETS: i32 = offset(offset_of!(Given<'static>, octets));
    pub(crate) const OCTETS_LEN: i32 = offset(offset_of!(Given<'static>, octets_len));
}

type Function = unsafe extern "C" fn(frame: *mut u64, given: *const Given<'_>, entry: u64) -> u64;

/// A compiled function.
pub struct Code {
    function: Function,
    limits: Limits,
    /// Owns the memory that the function stands in. Nothing reads it before it is dropped.
    module: Mutex<Option<JITModule>>,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Code {
    /// Runs the function from an entry until it leaves; gives the word that it leaves with, and `None` without running
    /// anything if the frame or the pages are less than its [`Limits`].
    #[expect(clippy::needless_pass_by_value, reason = "what is lent is lent for one run")]
    #[inline]
    pub fn run(&self, frame: &mut [u64], memory: Memory<'_>, entry: u32) -> Option<u64> {
        if frame.len() < self.limits.frame as usize || memory.pages.len() < self.limits.pages as usize {
            return None;
        }
        let given = Given {
            pages: memory.pages.as_ptr(),
            cells: memory.cells.as_mut_ptr(),
            cells_len: memory.cells.len() as u64,
            octets: memory.octets.as_mut_ptr(),
            octets_len: memory.octets.len() as u64,
            borrowed: PhantomData,
        };
        // SAFETY: the function is of this type and still there, because `self.module` is. It reads and writes the frame
        // below `limits.frame`, which is as long; pages below `limits.pages`, as many; cells and octets below the
        // lengths given. All are borrowed until it returns, and it keeps no pointer.
        Some(unsafe { (self.function)(frame.as_mut_ptr(), &raw const given, entry.into()) })
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Ok(module) = self.module.get_mut()
            && let Some(module) = module.take()
        {
            // SAFETY: nobody runs the function, which `self` lends only for the time of a run.
            unsafe { module.free_memory() };
        }
    }
}

fn compiler(e: impl std::fmt::Display) -> Error {
    Error::Compiler(e.to_string())
}

/// Compiles the function that `describe` describes.
///
/// # Errors
/// No code for this processor, or not a function within the limits.
pub fn compile(limits: Limits, describe: impl FnOnce(&mut Assembler<'_>)) -> Result<Code, Error> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "speed"),
        ("enable_verifier", "true"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(compiler)?;
    }
    let target = cranelift_native::builder().map_err(|e| Error::Processor(e.to_owned()))?;
    let target = target.finish(settings::Flags::new(flags)).map_err(|e| Error::Processor(e.to_string()))?;
    if target.pointer_type() != types::I64 {
        return Err(Error::Processor("pointers aren't 64 bits wide".to_owned()));
    }
    let mut module = JITModule::new(JITBuilder::with_isa(target, default_libcall_names()));
    let mut context = module.make_context();
    for _ in 0..3 {
        context.func.signature.params.push(AbiParam::new(types::I64));
    }
    context.func.signature.returns.push(AbiParam::new(types::I64));
    let mut parts = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut parts);
    let mut assembler = Assembler::new(builder, limits);
    describe(&mut assembler);
    let made = assembler.finish().and_then(|()| {
        let id = module.declare_function("code", Linkage::Local, &context.func.signature);
        let id = id.map_err(compiler)?;
        module.define_function(id, &mut context).map_err(|e| Error::Compiler(format!("{e:?}")))?;
        module.finalize_definitions().map_err(compiler)?;
        Ok(module.get_finalized_function(id))
    });
    let address = match made {
        Ok(address) => address,
        Err(e) => {
            // SAFETY: no function of the module was ever given to anybody.
            unsafe { module.free_memory() };
            return Err(e);
        }
    };
    // SAFETY: at the address is a function with this signature and the C calling convention of this machine, the
    // module's default; it stands there until the module is freed.
    let function = unsafe { std::mem::transmute::<*const u8, Function>(address) };
    Ok(Code { function, limits, module: Mutex::new(Some(module)) })
}
