// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Figures 3 to 8, and one of the further work: what the models give, what the text says of single
//! points, and the range over all assumptions.

use mb_netproc::contract::{Application, Classifier};
use mb_packets::{Mix, Sizes};

use super::arithmetic::printed;
use super::experiment::{MHZ, PaperChip, Work};
use super::model::{Lengths, Model};
use super::scenarios::MIXES;
use super::variants::{self, FURTHER};
use crate::chart::{Anchor, Chart, ChartPoint, Series, SeriesForm};
use crate::curve::Limit;
use crate::error::MeasureError;

const UNITS: &str = "functional units";
const RATE: &str = "million packets per second";
const MILLION: f64 = 1e6;
const THOUSAND: f64 = 1e3;
/// The processors of figure 8.
const FOUR: [PaperChip; 4] = [PaperChip::Smt(8), PaperChip::Cmp(8), PaperChip::Cmp2(4), PaperChip::Cmp2(8)];

/// Chips by their number of contexts or cores.
type Family = fn(usize) -> PaperChip;
type Measure = fn(&Model, PaperChip) -> Result<f64, MeasureError>;

/// All charts; `models` are those of every assumption, which give the ranges.
///
/// # Errors
/// When a run fails.
pub(super) fn all(model: &Model, models: &[Model]) -> Result<Vec<Chart>, MeasureError> {
    Ok(vec![
        figure3(model, models)?,
        figure4(model, models)?,
        windows(model, "crowley2000-figure5", "crowley2000 figure 5: IP router", Mix::Router)?,
        windows(model, "crowley2000-figure6", "crowley2000 figure 6: web switch", Mix::WebSwitch)?,
        windows(model, "crowley2000-figure7", "crowley2000 figure 7: VPN node", Mix::Vpn)?,
        figure8(model, models)?,
        further_work(model)?,
    ])
}

/// SMT, CMP and CMP2 by functional units, with the range over `models`; rates are divided by `scale`.
fn by_units(model: &Model, models: &[Model], measure: Measure, scale: f64) -> Result<Vec<Series>, MeasureError> {
    let families: [(Family, usize); 3] = [(PaperChip::Smt, 8), (PaperChip::Cmp, 8), (PaperChip::Cmp2, 4)];
    let series = |(chip, most): (Family, usize)| {
        let point = |number| {
            let chip = chip(number);
            let of = |model: &Model| Ok(measure(model, chip)? / scale);
            let y = of(model)?;
            Ok(ChartPoint { x: chip.units() as f64, y, range: range(y, models, of)? })
        };
        let points = (1..=most).map(point).collect::<Result<_, MeasureError>>()?;
        // CMP2 with 8 processors has a name of its own.
        Ok(Series { name: chip(most).name(), counts: true, points, level: None })
    };
    families.into_iter().map(series).collect()
}

/// The lowest and the highest of `value` and the values over `models`; none if there are no models.
fn range(
    value: f64,
    models: &[Model],
    measure: impl Fn(&Model) -> Result<f64, MeasureError>,
) -> Result<Option<(f64, f64)>, MeasureError> {
    let values = models.iter().map(measure).collect::<Result<Vec<_>, _>>()?;
    let widened = |(low, high): (f64, f64), value: &f64| (low.min(*value), high.max(*value));
    Ok((!values.is_empty()).then(|| values.iter().fold((value, value), widened)))
}

fn anchor(claim: &'static str, chip: PaperChip, x: f64, value: f64) -> Anchor {
    Anchor { claim, series: chip.name(), x, value, is_ratio: false, limit: Limit::At }
}

/// A ratio of the paper's text: `value` is it times what the models measured.
fn ratio_anchor(claim: &'static str, chip: PaperChip, x: f64, value: f64) -> Anchor {
    Anchor { is_ratio: true, ..anchor(claim, chip, x, value) }
}

fn figure3(model: &Model, models: &[Model]) -> Result<Chart, MeasureError> {
    let at = |claim: &'static str, chip: PaperChip| {
        Ok::<_, MeasureError>(anchor(claim, chip, chip.units() as f64, printed(claim)? / MILLION))
    };
    let lead = 1.0 + printed("crowley2000.null.smt_over_cmp")?;
    let anchors = vec![
        at("crowley2000.null.smt_pps", PaperChip::Smt(8))?,
        at("crowley2000.null.cmp_pps", PaperChip::Cmp(8))?,
        at("crowley2000.null.cmp2_pps", PaperChip::Cmp2(4))?,
        ratio_anchor(
            "crowley2000.null.smt_over_cmp",
            PaperChip::Smt(4),
            4.0,
            lead * model.null(PaperChip::Cmp(4))? / MILLION,
        ),
    ];
    Ok(Chart {
        name: "crowley2000-figure3",
        title: "crowley2000 figure 3: the null application behind an ideal classifier".to_owned(),
        x: UNITS,
        y: RATE,
        form: SeriesForm::Lines,
        positions: Vec::new(),
        series: by_units(model, models, Model::null, MILLION)?,
        anchors,
    })
}

fn figure4(model: &Model, models: &[Model]) -> Result<Chart, MeasureError> {
    let mut series = by_units(model, models, Model::des3, THOUSAND)?;
    let report = model.report(PaperChip::Cmp(8), Work::Alone(Application::TripleDes), Classifier::Hardware)?;
    let workers: u64 = report.harts.iter().skip(1).map(|hart| hart.instructions).sum();
    let executed = workers as f64 / report.completed() as f64;
    for (name, instructions) in [
        ("a unit's limit by Table 2 (40000 instructions)".to_owned(), printed("crowley2000.t2.des3_insts")?),
        (format!("a unit's limit by our code ({executed:.0} instructions)"), executed),
    ] {
        let limit =
            |units: usize| ChartPoint::new(units as f64, units as f64 * MHZ as f64 * MILLION / instructions / THOUSAND);
        series.push(Series { name, counts: false, points: (1..=8).map(limit).collect(), level: None });
    }
    let below = |claim: &'static str, chip: PaperChip| {
        let value = printed_limit(claim)? / THOUSAND;
        Ok::<_, MeasureError>(Anchor { limit: Limit::Below, ..anchor(claim, chip, 8.0, value) })
    };
    Ok(Chart {
        name: "crowley2000-figure4",
        title: "crowley2000 figure 4: 3DES on datagrams of 340 bytes".to_owned(),
        x: UNITS,
        y: "thousand packets per second",
        form: SeriesForm::Lines,
        positions: Vec::new(),
        series,
        anchors: vec![
            below("crowley2000.des3.upper_smt", PaperChip::Smt(8))?,
            below("crowley2000.des3.upper_cmp", PaperChip::Cmp(8))?,
            below("crowley2000.des3.upper_cmp2", PaperChip::Cmp2(4))?,
        ],
    })
}

/// The number of a claim that is a limit.
fn printed_limit(id: &str) -> Result<f64, MeasureError> {
    use crate::ledger::{self, ClaimedValue, LEDGER, LEDGER_NAME};
    let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(|_| MeasureError::NotSeen("the ledger"))?;
    match claims.iter().find(|claim| claim.id == id).map(|claim| &claim.value) {
        Some(ClaimedValue::Limit { limit, .. } | ClaimedValue::Number(limit, _)) => Ok(*limit),
        _ => Err(MeasureError::NotSeen("a limit of the ledger")),
    }
}

/// The same with as many packets of the VPN node as of the other scenarios.
pub(super) fn with_all_windows(model: &Model) -> Model {
    Model { lengths: Lengths { vpn: model.lengths.scenario, ..model.lengths }, ..model.clone() }
}

/// Rates window by window, with dashed averages.
fn windows(model: &Model, name: &'static str, title: &str, mix: Mix) -> Result<Chart, MeasureError> {
    let model = &with_all_windows(model);
    let series = |chip: PaperChip| {
        let points = (1..).zip(model.windows(chip, mix, Sizes::Imix)?);
        let points = points.map(|(window, rate)| ChartPoint::new(f64::from(window * 100), rate / MILLION)).collect();
        let level = Some(model.scenario(chip, mix, Sizes::Imix)? / MILLION);
        Ok(Series { name: chip.name(), counts: true, points, level })
    };
    let [smt, cmp, cmp2] = PaperChip::THREE;
    // Averages: beside the last window.
    let end = model.experiment(smt, Work::Scenario(mix, Sizes::Imix), Classifier::Dpf).packets as f64 + 70.0;
    let lead = |claim: &'static str, over: PaperChip| {
        let value = (1.0 + printed(claim)?) * model.scenario(over, mix, Sizes::Imix)? / MILLION;
        Ok::<_, MeasureError>(ratio_anchor(claim, smt, end, value))
    };
    let anchors = match mix {
        Mix::Router => vec![lead("crowley2000.router.smt_over_cmp", cmp)?],
        Mix::WebSwitch => {
            vec![lead("crowley2000.web.smt_over_cmp", cmp)?, lead("crowley2000.web.smt_over_cmp2", cmp2)?]
        }
        _ => {
            let claim = "crowley2000.vpn.order_of_magnitude";
            let value = model.scenario(smt, Mix::Router, Sizes::Imix)? / printed(claim)? / MILLION;
            vec![ratio_anchor(claim, smt, end, value)]
        }
    };
    Ok(Chart {
        name,
        title: format!("{title}, windows of 100 packets; averages dashed"),
        x: "packets",
        y: RATE,
        form: SeriesForm::Lines,
        positions: Vec::new(),
        series: PaperChip::THREE.into_iter().map(series).collect::<Result<_, MeasureError>>()?,
        anchors,
    })
}

fn scenario_names() -> Vec<String> {
    ["IP router", "web switch", "VPN node"].map(str::to_owned).to_vec()
}

fn figure8(model: &Model, models: &[Model]) -> Result<Chart, MeasureError> {
    let ratio = |model: &Model, chip, mix| super::scenarios::ratio(model, chip, PaperChip::Cmp2(4), mix, Sizes::Imix);
    let series = |chip: PaperChip| {
        let point = |(x, mix)| {
            let y = ratio(model, chip, mix)?;
            Ok(ChartPoint { x: f64::from(x), y, range: range(y, models, |model| ratio(model, chip, mix))? })
        };
        let points = (0..).zip(MIXES).map(point).collect::<Result<_, MeasureError>>()?;
        Ok(Series { name: chip.name(), counts: true, points, level: None })
    };
    let [smt, cmp, cmp2, cmp28] = FOUR;
    let over = |claim: &'static str, chip: PaperChip, x: f64| {
        Ok::<_, MeasureError>(anchor(claim, chip, x, 1.0 + printed(claim)?))
    };
    let cmp_of = |claim: &'static str, x: f64, ratio: f64| anchor(claim, cmp, x, 1.0 / ratio);
    let above = Anchor { limit: Limit::Above, ..anchor("crowley2000.vpn.cmp_over_cmp2", cmp, 2.0, 1.0) };
    let anchors = vec![
        over("crowley2000.router.smt_over_cmp2", smt, 0.0)?,
        cmp_of("crowley2000.router.cmp2_eq_cmp", 0.0, printed("crowley2000.router.cmp2_eq_cmp")?),
        over("crowley2000.cmp28.router", cmp28, 0.0)?,
        over("crowley2000.web.smt_over_cmp2", smt, 1.0)?,
        cmp_of("crowley2000.web.cmp2_over_cmp", 1.0, 1.0 + printed("crowley2000.web.cmp2_over_cmp")?),
        over("crowley2000.cmp28.web", cmp28, 1.0)?,
        above,
        over("crowley2000.cmp28.vpn", cmp28, 2.0)?,
    ];
    debug_assert_eq!(cmp2, PaperChip::Cmp2(4), "the reference");
    Ok(Chart {
        name: "crowley2000-figure8",
        title: "crowley2000 figure 8: average rates relative to CMP2 with 4 processors".to_owned(),
        x: "scenario",
        y: "rate, CMP2 = 1",
        form: SeriesForm::Bars,
        positions: scenario_names(),
        series: FOUR.into_iter().map(series).collect::<Result<_, MeasureError>>()?,
        anchors,
    })
}

/// The further work that the paper names, relative to the processor without the change.
fn further_work(model: &Model) -> Result<Chart, MeasureError> {
    let base = variants::model(model, None);
    let series = |(name, chip, variant): &(&'static str, PaperChip, variants::AssumptionVariant)| {
        let changed = variants::model(model, Some(variant));
        let null =
            (0.0, changed.rate(*chip, Work::Null, Classifier::Dpf)? / base.rate(*chip, Work::Null, Classifier::Dpf)?);
        let mut points = vec![ChartPoint::new(null.0, null.1)];
        for (x, mix) in (1..).zip(MIXES) {
            let ratio = changed.scenario(*chip, mix, Sizes::Imix)? / base.scenario(*chip, mix, Sizes::Imix)?;
            points.push(ChartPoint::new(f64::from(x), ratio));
        }
        Ok(Series { name: (*name).to_owned(), counts: true, points, level: None })
    };
    let mut positions = vec!["null application".to_owned()];
    positions.extend(scenario_names());
    Ok(Chart {
        name: "crowley2000-further-work",
        title: "crowley2000, sections 3.3, 3.4 and 6: further work, relative to the same processor without it"
            .to_owned(),
        x: "scenario",
        y: "rate, unchanged = 1",
        form: SeriesForm::Bars,
        positions,
        series: FURTHER.iter().map(series).collect::<Result<_, MeasureError>>()?,
        anchors: Vec::new(),
    })
}
