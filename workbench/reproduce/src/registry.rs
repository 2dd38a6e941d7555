// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Papers as values: what a paper registers, and how a registered paper is reproduced.
//!
//! A paper names the subject that its claims are measured on, a [`ClaimTest`] for each claim that a
//! model can test, the places where it contradicts itself, the engines it uses and the study that
//! draws its figures. [`RegisteredPaper`] hides the type of the subject, so that one list holds all
//! papers.

use crate::claim_test::{ClaimTest, Interpretation, Procedure};
use crate::contradictions::{self, Contradiction, ContradictionResult};
use crate::error::{MeasureError, ReproduceError, StudyError};
use crate::evidence;
use crate::explanation::{self, Wanted};
use crate::figures::{self, Figures};
use crate::ledger::{self, Claim, LEDGER, LEDGER_NAME};
use crate::report::{self, Finding};
use crate::study::{Study, StudyFile};
use crate::verdict::{Measured, Verdict};

/// Computes what the figures of a paper are drawn from. With a number of jobs, everything that only
/// figures show is run too, that many runs at a time.
pub type DrawFigures<S> = fn(&S, &[Claim], Option<usize>) -> Result<Option<Figures>, ReproduceError>;

/// The registration of a paper. `S` is the subject on which its claims are measured.
#[derive(Clone, Copy, Debug)]
pub struct Paper<S: 'static> {
    /// Citation key, which is also the first word of its claims' ids.
    pub key: &'static str,
    /// Short form of the key on the command line.
    pub alias: &'static str,
    /// The tests of its claims, group by group.
    pub tests: &'static [&'static [ClaimTest<S>]],
    /// Where it contradicts itself.
    pub contradictions: &'static [Contradiction<S>],
    /// Builds the subject as the paper describes it.
    pub subject: fn() -> Result<S, MeasureError>,
    /// Engine and preset of each model in use.
    pub engines: &'static [&'static str],
    /// The study that names its figures.
    pub study: Option<StudyFile>,
    /// Computes what its figures are drawn from.
    pub figures: DrawFigures<S>,
}

impl<S> Paper<S> {
    /// The tests of all its claims.
    pub fn tests(&self) -> impl Iterator<Item = &'static ClaimTest<S>> + use<S> {
        self.tests.iter().copied().flatten()
    }

    /// Judges those of `claims` that are the paper's on `subject`, in the order of the ledger.
    ///
    /// # Errors
    /// When a measurement cannot be made, or the ledger's evidence for a claim does not stand.
    pub fn findings<'a>(&self, claims: &'a [Claim], subject: &S) -> Result<Vec<Finding<'a>>, ReproduceError> {
        let mut findings = self.judged(claims, subject)?;
        for place in 0..findings.len() {
            let finding = &findings[place];
            if finding.verdict == Verdict::NotTestable {
                continue;
            }
            let id = finding.claim.id.clone();
            let value = |wanted: Wanted<'_>| self.value(wanted, &findings, subject);
            let resolved = explanation::resolve(&finding.reason, value)?;
            let wrong = |(placeholder, what)| ReproduceError::Explanation { id, placeholder, what };
            let reason = resolved.map_err(wrong)?;
            findings[place].reason = reason;
        }
        Ok(findings)
    }

    /// The same without the numbers inside explanations.
    pub(crate) fn judged<'a>(&self, claims: &'a [Claim], subject: &S) -> Result<Vec<Finding<'a>>, ReproduceError> {
        let own = claims.iter().filter(|claim| claim.paper == self.key);
        let judged = |claim: &'a Claim| {
            evidence::check(claim)?;
            report::judge(claim, self.tests().find(|test| test.id == claim.id), subject)
        };
        own.map(judged).collect()
    }

    /// What a placeholder stands for: taken from `findings`, or measured if only some claims are judged.
    fn value(
        &self,
        wanted: Wanted<'_>,
        findings: &[Finding<'_>],
        subject: &S,
    ) -> Result<Result<Measured, String>, ReproduceError> {
        let Wanted { claim: id, interpretation: name, published } = wanted;
        let judged = findings.iter().find(|finding| finding.claim.id == id);
        if published {
            let ledger = ledger::read(LEDGER_NAME, LEDGER).unwrap_or_default();
            let claim = judged.map(|finding| finding.claim).or_else(|| ledger.iter().find(|claim| claim.id == id));
            let found = claim.map(|claim| Measured::Text(claim.value.to_string()));
            return Ok(found.ok_or_else(|| format!("found no claim `{id}`, expected one of the ledger")));
        }
        let all: Vec<Interpretation> = if let Some(finding) = judged {
            finding.interpretations.iter().map(|judged| judged.interpretation.clone()).collect()
        } else {
            match self.tests().find(|test| test.id == id).map(|test| &test.procedure) {
                Some(Procedure::Measure(measure) | Procedure::Shown(measure, _)) => measure(subject)?,
                _ => Vec::new(),
            }
        };
        let found = all.iter().find(|interpretation| name.is_none_or(|name| interpretation.name == name));
        Ok(found.map(|found| found.measured.clone()).ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|interpretation| format!("`{}`", interpretation.name)).collect();
            match name {
                Some(name) if !names.is_empty() => {
                    format!("found interpretation `{name}`, expected one of: {}", names.join(", "))
                }
                _ => format!("found `{id}`, expected a claim of {} that is measured", self.key),
            }
        }))
    }

    /// Measures every contradiction of the paper on `subject`.
    ///
    /// # Errors
    /// When a measurement cannot be made.
    pub fn contradicted(&self, subject: &S) -> Result<Vec<ContradictionResult>, ReproduceError> {
        contradictions::measure(self.contradictions, subject)
    }
}

/// The result of reproducing one paper.
#[derive(Clone, PartialEq, Debug)]
pub struct Reproduction<'a> {
    /// The paper's claims with their verdicts.
    pub findings: Vec<Finding<'a>>,
    /// Its contradictions, measured.
    pub contradictions: Vec<ContradictionResult>,
    /// Engine and preset of each model in use.
    pub engines: Vec<String>,
    /// Name of the study and what its figures are drawn from.
    pub figures: Option<Figures>,
}

/// A paper in the list of all, of any type of subject.
pub trait RegisteredPaper: Sync {
    /// Citation key.
    fn key(&self) -> &'static str;

    /// Short form of the key on the command line.
    fn alias(&self) -> &'static str;

    /// The study that names its figures.
    fn study(&self) -> Option<StudyFile>;

    /// Ids of the claims that it has a test for.
    fn tested(&self) -> Vec<&'static str>;

    /// Builds the subject, judges every claim of the paper and computes its figures; see
    /// [`DrawFigures`] for `jobs`.
    ///
    /// # Errors
    /// When the subject cannot be built or a measurement cannot be made.
    fn reproduce<'a>(&self, claims: &'a [Claim], jobs: Option<usize>) -> Result<Reproduction<'a>, ReproduceError>;
}

impl<S> RegisteredPaper for Paper<S> {
    fn key(&self) -> &'static str {
        self.key
    }

    fn alias(&self) -> &'static str {
        self.alias
    }

    fn study(&self) -> Option<StudyFile> {
        self.study
    }

    fn tested(&self) -> Vec<&'static str> {
        self.tests().map(|test| test.id).collect()
    }

    fn reproduce<'a>(&self, claims: &'a [Claim], jobs: Option<usize>) -> Result<Reproduction<'a>, ReproduceError> {
        let subject = (self.subject)()?;
        let figures = (self.figures)(&subject, claims, jobs)?;
        let mut engines: Vec<_> = self.engines.iter().map(|&spec| spec.to_owned()).collect();
        if let (Some(_), Some(file)) = (&figures, self.study) {
            for engine in figures::engines(&file.read().map_err(MeasureError::from)?)? {
                if !engines.contains(&engine) {
                    engines.push(engine);
                }
            }
        }
        Ok(Reproduction {
            findings: self.findings(claims, &subject)?,
            contradictions: self.contradicted(&subject)?,
            engines,
            figures,
        })
    }
}

/// All registered papers.
#[derive(Clone, Copy)]
pub struct Registry(pub &'static [&'static dyn RegisteredPaper]);

impl Registry {
    /// Citation key and alias of each paper.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().map(|paper| (paper.key(), paper.alias()))
    }

    /// The paper with this key or alias.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(&self, name: &str) -> Result<&'static dyn RegisteredPaper, ReproduceError> {
        let found = self.0.iter().find(|paper| paper.key() == name || paper.alias() == name);
        found.copied().ok_or_else(|| ReproduceError::UnknownPaper {
            name: name.to_owned(),
            known: self.keys().map(|(key, _)| key).collect(),
        })
    }

    /// The study of this name, whose text has been read without an error.
    ///
    /// # Errors
    /// When there is none or it cannot be read.
    pub fn study(&self, name: &str) -> Result<(StudyFile, Study), StudyError> {
        let file = self.0.iter().filter_map(|paper| paper.study()).find(|file| file.name == name);
        let file = file.ok_or_else(|| StudyError { name: name.to_owned(), what: "no such study".to_owned() })?;
        Ok((file, file.read()?))
    }
}
