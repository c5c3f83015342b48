//! The command line: arguments and help, without logic.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use clap::ColorChoice as ColourChoice;

use crate::backend::sagemaker::iam_policy::Grantee;
use crate::grammar;
use crate::probe::ProbeOptions;
use crate::report::format::ReportFormat;
use crate::spec::OnInconclusive;
use crate::units::{Seconds, Usd};

/// Forecast what a full training run will take from small canary runs, and fail CI on a projected overrun.
#[derive(Debug, Parser)]
#[command(name = "canary-gate", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: CliCommand,

    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// The exit codes, as `--help` ends.
const EXIT_CODES: &str = "\
Exit codes:
  0   within budget, at risk without --strict, nothing to judge, or unknown with --on-inconclusive pass
  1   the tool failed, or its environment needs a correction
  2   wrong usage, or an invalid spec
  10  a budget is exceeded
  11  at risk of a budget, under --strict
  12  the training drifted from its baseline
  13  the training code failed in a canary
  14  unknown: could not be decided
  130, 143  interrupted";

/// The help heading of arguments about canary runs.
const CANARIES: &str = "Canaries";

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Try the gate on an example that it carries, in some seconds; needs Python 3.
    Demo {
        /// The folder that it is written to; an earlier demo there is run again.
        #[arg(value_name = "FOLDER", default_value = "canary-gate-demo")]
        folder: PathBuf,
    },
    /// Write a commented spec of the training code and data that the checkout holds.
    Init(InitArguments),
    /// Check the spec and print every problem; costs nothing.
    Validate(SpecArguments),
    /// Check that this machine has what the spec asks for; costs nothing without --try.
    Check(CheckArguments),
    /// Show affected jobs, their canaries and what these may cost; costs nothing.
    Plan(PlanArguments),
    /// Run the gate: plan, run the canaries, forecast, judge, report.
    Run(RunArguments),
    /// Forecast from recorded measurements, without running anything.
    Forecast(ForecastArguments),
    /// Render stored reports, or merge parts into one.
    Report(ReportArguments),
    /// Measure again, and report whether the same training takes more than before, and why.
    Drift(DriftArguments),
    /// List, show or export what earlier runs of the gate recorded.
    #[command(subcommand)]
    History(HistoryCommand),
    /// Compare the last forecast with a real full run.
    Actuals(ActualsArguments),
    /// Keep what AWS publishes of prices beside the spec.
    #[command(subcommand)]
    Prices(PricesCommand),
    /// Stop training jobs left by interrupted runs, and remove their staged files.
    Sweep(SweepArguments),
    /// Print the JSON Schema of a file format.
    Schema {
        /// The file format.
        #[arg(value_name = "FORMAT")]
        kind: SchemaKind,
    },
    /// Print the smallest IAM policy that the spec needs on AWS.
    IamPolicy {
        #[command(flatten)]
        spec: SpecArguments,
        /// Who the policy is for.
        #[arg(long = "for", value_name = "WHOM", default_value = "ci")]
        grantee: Grantee,
    },
    /// Print shell completions.
    Completions {
        /// The shell.
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print a page of the manual, as `man` reads it.
    Man {
        /// The command that the page is of, such as `run` or `history export`; without one it is canary-gate's own.
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Run a command, sample its process tree, and print one JSON line at the end.
    Probe(ProbeOptions),
    /// Run as the GitHub Action: the gate on an event, with the report in a comment.
    ///
    /// All input comes from the runner's variables and the inputs of action.yml.
    Action,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Logging")]
pub struct Verbosity {
    /// Log more to standard error; give it twice to log everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Print only the report and errors, without progress.
    #[arg(long, global = true, env = "CANARY_GATE_QUIET", value_parser = clap::builder::BoolishValueParser::new())]
    pub quiet: bool,
    /// When output has colours. With `auto`: on a terminal, unless NO_COLOR is set or CLICOLOR is 0; elsewhere if CLICOLOR_FORCE is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColourChoice,
}

#[derive(Debug, Args)]
pub struct SpecArguments {
    /// The spec file [default: canary-gate.yml, else .github/canary-gate.yml, here or in a folder above, up to the root of the
    /// checkout].
    #[arg(long, value_name = "FILE", env = "CANARY_GATE_SPEC")]
    pub spec: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What changed")]
pub struct ChangeArguments {
    /// Treat every job as changed.
    #[arg(long)]
    pub all: bool,
    /// Only this job; repeatable.
    #[arg(
        long = "job",
        value_name = "NAME",
        env = "CANARY_GATE_JOB",
        value_delimiter = ','
    )]
    pub jobs: Vec<String>,
    /// Compare the work tree, uncommitted files included, with its merge base with this reference [default: origin's HEAD, else on
    /// another branch the local `main` or `master`]. If given, the spec at its tip sets the policy: budgets, limits and roles.
    #[arg(long, value_name = "REF", env = "CANARY_GATE_BASE")]
    pub base: Option<String>,
}

#[derive(Debug, Args)]
pub struct DataArguments {
    /// Let local channels read data below this folder outside the checkout, as `uri: file:///DIR/...`; repeatable.
    #[arg(long = "data-root", value_name = "DIR", help_heading = CANARIES)]
    pub data_roots: Vec<PathBuf>,
    /// Let local canaries read the caches below this folder that their spec names under `caches`; repeatable.
    #[arg(long = "cache", value_name = "DIR", help_heading = CANARIES)]
    pub caches: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyArguments {
    /// The most that canaries may cost in the whole run, of all jobs together [default: each job's `canary.spend_limit`; 5 USD
    /// together for jobs that are not in the spec of `--base`].
    #[arg(long, value_name = "USD", env = "CANARY_GATE_MAX_SPEND", value_parser = max_spend)]
    pub max_spend: Option<Usd>,
}

/// A positive amount; the unit may be omitted.
fn max_spend(text: &str) -> Result<Usd, String> {
    let bare = text.trim();
    let amount = match bare.parse::<f64>() {
        Ok(_) => format!("{bare} USD").parse::<Usd>(),
        Err(_) => bare.parse::<Usd>(),
    };
    match amount {
        Ok(amount) if amount.0 > 0.0 => Ok(amount),
        Ok(_) => Err("it must be more than 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// One of the registered formats that have a name.
fn report_format() -> impl TypedValueParser<Value = ReportFormat> {
    PossibleValuesParser::new(ReportFormat::names())
        .try_map(|name| ReportFormat::named(&name).ok_or("no format of that name"))
}

fn output_help() -> String {
    format!(
        "Also write the report to this file; repeatable. The extension selects the format: {}",
        grammar::choice(&ReportFormat::extensions())
    )
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// The format of the report on standard output.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "CANARY_GATE_FORMAT",
        default_value = "terminal",
        value_parser = report_format()
    )]
    pub format: ReportFormat,
    /// Show the whole report on the terminal: laws, prices, notes, causes. Without it each job has a few lines.
    #[arg(long, env = "CANARY_GATE_DETAILS", value_parser = clap::builder::BoolishValueParser::new())]
    pub details: bool,
    #[arg(long = "output", short, value_name = "FILE", help = output_help())]
    pub outputs: Vec<PathBuf>,
    /// A Handlebars template that lays out the report in Markdown; docs/template.md lists its values.
    #[arg(long, value_name = "FILE", env = "CANARY_GATE_TEMPLATE")]
    pub template: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Inconclusive {
    Fail,
    Pass,
}

impl From<Inconclusive> for OnInconclusive {
    fn from(written: Inconclusive) -> Self {
        match written {
            Inconclusive::Fail => Self::Fail,
            Inconclusive::Pass => Self::Pass,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArguments {
    /// Fail the check also when a job is at risk of exceeding a budget.
    #[arg(long, env = "CANARY_GATE_STRICT", value_parser = clap::builder::BoolishValueParser::new())]
    pub strict: bool,
    /// Whether an unknown outcome fails the check [default: the spec's, else fail].
    #[arg(long, value_name = "OUTCOME", env = "CANARY_GATE_ON_INCONCLUSIVE")]
    pub on_inconclusive: Option<Inconclusive>,
}

#[derive(Debug, Args)]
pub struct InitArguments {
    /// The file to write [default: canary-gate.yml, with a command at the checkout's root].
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Write over an existing file, and beside another spec of the checkout.
    #[arg(long)]
    pub force: bool,
    /// What the first line names as the schema, for editors [default: a file in .canary-gate/, written too].
    #[arg(long, value_name = "URL")]
    pub schema: Option<String>,
    /// Derive the spec from this SageMaker training job.
    #[arg(long, value_name = "NAME")]
    pub from_job: Option<String>,
    /// The region of that job [default: AWS_REGION].
    #[arg(long, value_name = "REGION", requires = "from_job")]
    pub region: Option<String>,
    /// Stop the command after this time; what it has opened by then counts.
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    #[arg(requires = "command")]
    pub watch_for: Seconds,
    /// How the project starts training, from this folder. It is run once, as it stands, and the spec has the data that it opened.
    #[arg(last = true, value_name = "CMD", conflicts_with = "from_job")]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only this job; repeatable.
    #[arg(long = "job", value_name = "NAME", value_delimiter = ',')]
    pub jobs: Vec<String>,
    /// Then run one canary, the smallest of the first job, and explain what fails; it costs at most what is said before.
    ///
    /// On this machine a second canary tries another command where that may mend the first error. The script gets
    /// `training.hyperparameters` as arguments, `--epochs 100`, and in the variables SM_HPS and SM_HP_EPOCHS.
    #[arg(long = "try", help_heading = CANARIES)]
    pub canary: bool,
    /// Hand this variable on to the training code; repeatable.
    #[arg(long = "pass-env", value_name = "NAME", help_heading = CANARIES)]
    pub pass_env: Vec<String>,
    #[command(flatten)]
    pub policy: PolicyArguments,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The most that the canaries of all checks of one pull request may cost together, over all its pushes; earlier ones are
    /// summed up from the history. Only in a pull request's run in GitHub Actions, not with `--detach` or `--collect`.
    #[arg(
        long,
        value_name = "USD",
        env = "CANARY_GATE_MAX_SPEND_PER_PULL_REQUEST",
        value_parser = max_spend,
        help_heading = "Policy"
    )]
    pub max_spend_per_pull_request: Option<Usd>,
    /// Only the job's instance, no alternatives.
    #[arg(long, help_heading = CANARIES)]
    pub only_instance: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub plan: PlanArguments,
    /// Ignore earlier canaries and measure again.
    #[arg(long, env = "CANARY_GATE_FRESH", value_parser = clap::builder::BoolishValueParser::new(), help_heading = CANARIES)]
    pub fresh: bool,
    /// Start the canaries and end, on SageMaker; a later `run --collect` at the same commit measures them and gives the verdict.
    #[arg(long, conflicts_with_all = ["collect", "measurements"], help_heading = CANARIES)]
    pub detach: bool,
    /// Measure the canaries that `run --detach` has started at this commit, and start none; ends with 14 while some still run, or
    /// with 1 under `--on-inconclusive pass`.
    #[arg(long, help_heading = CANARIES)]
    pub collect: bool,
    /// Also write the measurements to this file when the run ends: .jsonl is appended to, .csv is replaced.
    #[arg(long, value_name = "FILE", help_heading = CANARIES)]
    pub measurements: Option<PathBuf>,
    /// Hand this variable on to the training code; repeatable.
    #[arg(long = "pass-env", value_name = "NAME", help_heading = CANARIES)]
    pub pass_env: Vec<String>,
    #[command(flatten)]
    pub verdict: VerdictArguments,
    #[command(flatten)]
    pub output: OutputArguments,

    /// Keep a note with the report up to date on the merge request of this pipeline, by an access token of its project (role Reporter,
    /// scope `api`) in CANARY_GATE_GITLAB_TOKEN. That it cannot be written is a warning
    #[arg(long, value_name = "SERVICE", value_parser = ["gitlab"], help_heading = "Output")]
    pub comment: Option<String>,
}

#[derive(Debug, Args)]
pub struct ForecastArguments {
    /// The measurements: JSON lines, or the CSV table of the library canary-training.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only this job; repeatable.
    #[arg(long = "job", value_name = "NAME", value_delimiter = ',')]
    pub jobs: Vec<String>,
    /// Take all rows for runs of this job, whatever the file calls them.
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub as_job: Option<String>,
    /// The region of the prices [default: the spec's, else AWS_REGION, else us-east-1].
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    #[command(flatten)]
    pub verdict: VerdictArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Stored reports (.json); several are merged into one.
    #[arg(long = "from", value_name = "FILE", required = true, num_args = 1..)]
    pub from: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,

    /// Keep a note with the report up to date on the merge request of this pipeline, by an access token of its project (role Reporter,
    /// scope `api`) in CANARY_GATE_GITLAB_TOKEN. That it cannot be written is a warning
    #[arg(long, value_name = "SERVICE", value_parser = ["gitlab"], help_heading = "Output")]
    pub comment: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// List records, newest first.
    List(HistoryListArguments),
    /// Show one record.
    Show(HistoryShowArguments),
    /// Write records for other programs, oldest first.
    Export(HistoryExportArguments),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RecordFormat {
    Terminal,
    Json,
}

#[derive(Debug, Args)]
pub struct HistoryListArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only records of this job.
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// The most records to list.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub limit: usize,
    /// The format of the list on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    pub format: RecordFormat,
}

#[derive(Debug, Args)]
pub struct HistoryShowArguments {
    /// The record: its id from `history list`, or the name or path of its file.
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub spec: SpecArguments,
    /// The whole record as JSON, or a page to read.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub format: RecordFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The forecasts, one line for each record and instance configuration.
    Csv,
    /// The canary runs, each once, as the table of the library canary_training.
    Seed,
    /// The canary runs, each once, as measurements, one per line; `forecast` reads them.
    Jsonl,
    /// All jobs on one page: what a full run takes and what checks cost, over time.
    Html,
    /// How the jobs of the spec stand on the default branch, for a badge: shields.io's endpoint form.
    Badge,
}

#[derive(Debug, Args)]
pub struct HistoryExportArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only records of this job.
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// The format [default: from the extension of the file, else csv].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,
    /// Write to this file, such as page.html, instead of standard output.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The same as FILE.
    #[arg(long, short, value_name = "FILE", conflicts_with = "file")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DriftArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Only this job; repeatable.
    #[arg(
        long = "job",
        value_name = "NAME",
        env = "CANARY_GATE_JOB",
        value_delimiter = ','
    )]
    pub jobs: Vec<String>,
    /// Make the newest check the baseline of later ones, without measuring: for an intended change.
    #[arg(long, conflicts_with_all = ["outputs", "pass_env"])]
    pub accept: bool,
    /// The most that canaries may cost in the whole run, of all jobs together [default: each job's `canary.spend_limit`].
    #[arg(long, value_name = "USD", env = "CANARY_GATE_MAX_SPEND", value_parser = max_spend)]
    pub max_spend: Option<Usd>,
    /// Hand this variable on to the training code; repeatable.
    #[arg(long = "pass-env", value_name = "NAME", help_heading = CANARIES)]
    pub pass_env: Vec<String>,
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub verdict: VerdictArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Debug, Args)]
pub struct ActualsArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Run the full job once on this machine, and compare the last forecast with it.
    #[arg(long, required = true)]
    pub run: bool,
    /// Only this job; repeatable.
    #[arg(long = "job", value_name = "NAME", value_delimiter = ',')]
    pub jobs: Vec<String>,
    /// Hand this variable on to the training code; repeatable.
    #[arg(long = "pass-env", value_name = "NAME", help_heading = CANARIES)]
    pub pass_env: Vec<String>,
    #[command(flatten)]
    pub data: DataArguments,
}

#[derive(Debug, Args)]
pub struct SweepArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Sweep what this run of the gate left, e.g. a GITHUB_RUN_ID, instead of what has expired.
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// With --run: stop also what that run has detached, which `run --collect` would measure.
    #[arg(long, requires = "run")]
    pub detached: bool,
    /// Show what would be stopped and removed, without doing it.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub enum PricesCommand {
    /// Read AWS's published prices of training in a region into canary-gate.prices.json beside the spec; needs no credentials.
    Update {
        #[command(flatten)]
        spec: SpecArguments,
        /// The region [default: the spec's, else AWS_REGION]; those of other regions in the file are kept.
        #[arg(long, value_name = "REGION")]
        region: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    Spec,
    Report,
    Measurement,
}
