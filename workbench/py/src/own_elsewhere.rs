// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines of files as all processes but one see them: a description and an origin. Their code runs in a process of
//! its own (`matchbench.engines.own_process`), where whole checks and replays are done.

use mb_catalog::EngineChoice;
use mb_core::parameters::{Choice, ParameterSet};
use mb_core::{
    Accepted, BuildOwn, Completion, Engine, EngineFault, EngineOrigin, Measurable, Op, OwnKind, ParameterError, Picos,
    Placement, QueueLengths, ReplayEngine, Shortcuts,
};
use mb_input::InputLimit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::bad_input;
use crate::own_class;

const MODULE: &str = "matchbench.engines.own_process";

/// Whether this is the process in which the code of files runs.
pub(crate) fn is_here(py: Python<'_>) -> PyResult<bool> {
    py.import(MODULE)?.getattr("runs_code")?.extract()
}

/// The choice of a preset of the engine in the file at `path`, or of its first one.
pub(crate) fn choose(py: Python<'_>, path: &str, kind: OwnKind, preset: Option<&str>) -> PyResult<EngineChoice> {
    let sha256 = if kind == OwnKind::Library {
        mb_own::library::examined(path).map_err(bad_input)?.1
    } else {
        let expected = "a file with a class of matchbench.PythonEngine";
        let content = mb_input::read(path.as_ref(), InputLimit::Text)
            .map_err(|refusal| bad_input(format!("{path}: {}", refusal.expecting(expected))))?;
        mb_own::sha256(&content)
    };
    let described = py.import(MODULE)?.call_method1("described", (path, &sha256))?;
    let (description, interface): (String, Option<u32>) = described.extract()?;
    let origin = EngineOrigin { kind, path: path.to_owned(), sha256, interface };
    own_class::choice_of(&description, preset, origin, |origin| Elsewhere { origin })
}

#[derive(Debug)]
struct Elsewhere {
    origin: EngineOrigin,
}

impl Elsewhere {
    /// What the process says of an engine with these parameters.
    fn place(&self, parameters: &ParameterSet) -> PyResult<Placement> {
        let word: String = Python::attach(|py| {
            let values = PyDict::new(py);
            for (spec, parameter) in parameters.iter() {
                values.set_item(spec.key, parameter.value.to_string())?;
            }
            py.import(MODULE)?.call_method1("placement", (&self.origin.path, &self.origin.sha256, values))?.extract()
        })?;
        Ok(Placement::ALL.iter().copied().find(|known| known.word() == word).unwrap_or(Placement::Nic))
    }

    fn refused(&self) -> ParameterError {
        ParameterError::Contradiction(format!("{}: no engine was made of them", self.origin.path))
    }
}

impl BuildOwn for Elsewhere {
    fn build(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        self.place(parameters).map_err(|error| {
            own_class::keep(error);
            self.refused()
        })?;
        Ok(Box::new(Absent(self.origin.path.clone())))
    }

    fn origin(&self) -> &EngineOrigin {
        &self.origin
    }

    fn placement(&self, parameters: &ParameterSet) -> Result<Option<Placement>, ParameterError> {
        self.place(parameters).map(Some).map_err(|_| self.refused())
    }
}

/// An engine that is not in this process.
struct Absent(String);

impl Absent {
    fn fail(&self) -> ! {
        EngineFault(format!("{}: its code runs in a process of its own, which this work does not use", self.0)).raise()
    }
}

impl Engine for Absent {
    fn offer(&mut self, _: Picos, _: Op) -> Accepted {
        self.fail()
    }

    fn next_event(&self) -> Option<Picos> {
        self.fail()
    }

    fn run_until(&mut self, _: Picos, _: &mut Vec<Completion>) {
        self.fail()
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.fail()
    }

    fn busy(&self) -> Picos {
        self.fail()
    }
}

impl Shortcuts for Absent {}

impl Measurable for Absent {}
