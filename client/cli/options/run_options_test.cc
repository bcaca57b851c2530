#include "client/cli/options/run_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <initializer_list>

#include "common/string_util.h"

namespace canopy::cli {
namespace {

const char* TestEnvironment(const char* name) {
  if (std::string_view(name) == "SET") return "value";
  if (std::string_view(name) == "PATH") return "/usr/bin";
  return nullptr;
}

Result<RunOptions> Parse(const std::string& line) {
  return ParseRunOptions(*SplitCommand(line), TestEnvironment);
}

RunOptions MustParse(const std::string& line) {
  Result<RunOptions> options = Parse(line);
  EXPECT_TRUE(options.ok()) << line << ": " << options.status().message();
  return options.ok() ? *options : RunOptions();
}

std::string TestFile(const std::string& name, const std::string& content) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << content;
  return path;
}

// A spelling of options, and a check of their effect.
struct Spelling {
  const char* options;
  bool (*seen)(const RunOptions& options);
};

class SpellingTest : public testing::TestWithParam<Spelling> {};

TEST_P(SpellingTest, EachSpellingIsUnderstood) {
  const RunOptions options =
      MustParse(std::string(GetParam().options) + " ./app -n 9 --help");
  ASSERT_EQ(options.job.apps.size(), 1u);
  EXPECT_EQ(options.job.apps[0].argv,
            (std::vector<std::string>{"./app", "-n", "9", "--help"}));
  EXPECT_TRUE(GetParam().seen(options)) << GetParam().options;
  EXPECT_FALSE(options.help);
}

bool FourProcs(const RunOptions& o) { return o.job.apps[0].num_procs == 4; }
bool HostAB(const RunOptions& o) {
  const std::vector<Host>& hosts = o.job.apps[0].hosts;
  return hosts.size() == 2 && hosts[0].name == "a" && hosts[0].slots == 2 &&
         hosts[0].slots_given && hosts[1].name == "b" && !hosts[1].slots_given;
}
bool MapNode(const RunOptions& o) { return o.job.places.map_by == "node"; }
bool RankCore(const RunOptions& o) { return o.job.places.rank_by == "core"; }
bool BindCore(const RunOptions& o) { return o.job.places.bind_to == "core"; }
bool Ppr2(const RunOptions& o) { return o.job.places.map_by == "ppr:2:node"; }
bool TwoCpus(const RunOptions& o) { return o.job.places.map_by == ":pe=2"; }
bool NinetySeconds(const RunOptions& o) { return o.job.timeout_seconds == 90; }
bool Pset(const RunOptions& o) { return o.job.apps[0].pset == "sea"; }
bool Wdir(const RunOptions& o) { return o.job.apps[0].cwd == "/w"; }
bool Mca(const RunOptions& o) {
  return o.job.apps[0].env == std::vector<std::string>{"OMPI_MCA_btl=tcp,self"};
}

INSTANTIATE_TEST_SUITE_P(
    Table, SpellingTest,
    testing::Values(
        Spelling{"-n 4", FourProcs}, Spelling{"-np 4", FourProcs},
        Spelling{"--np 4", FourProcs}, Spelling{"--ntasks=4", FourProcs},
        Spelling{"--n 4", FourProcs}, Spelling{"-n4", FourProcs},
        Spelling{"-np=4", FourProcs}, Spelling{"--n=4", FourProcs},
        Spelling{"--host a:2,b", HostAB}, Spelling{"-host a:2,b", HostAB},
        Spelling{"-H a:2,b", HostAB}, Spelling{"-w a:2,b", HostAB},
        Spelling{"--nodelist=a:2,b", HostAB},
        Spelling{"--ntasks-per-node 2", Ppr2}, Spelling{"--chdir /w", Wdir},
        Spelling{"-D /w", Wdir}, Spelling{"--hosts a:2,b", HostAB},
        Spelling{"--host a:2 --host b", HostAB},
        Spelling{"--map-by node", MapNode}, Spelling{"-map-by node", MapNode},
        Spelling{"--map-by=node", MapNode}, Spelling{"--bynode", MapNode},
        Spelling{"--rank-by core", RankCore},
        Spelling{"-rank-by core", RankCore},
        Spelling{"--bind-to core", BindCore},
        Spelling{"-bind-to core", BindCore},
        Spelling{"--bind-to-core", BindCore}, Spelling{"-npernode 2", Ppr2},
        Spelling{"--npernode 2", Ppr2}, Spelling{"-N 2", Ppr2},
        Spelling{"-ppn 2", Ppr2}, Spelling{"--wdir /w", Wdir},
        Spelling{"--pset sea", Pset}, Spelling{"-wdir /w", Wdir},
        Spelling{"-wd /w", Wdir}, Spelling{"--wd /w", Wdir},
        Spelling{"-mca btl tcp,self", Mca},
        Spelling{"--mca btl tcp,self", Mca}));

INSTANTIATE_TEST_SUITE_P(
    Flags, SpellingTest,
    testing::Values(
        Spelling{
            "--oversubscribe",
            [](const RunOptions& o) { return o.job.places.oversubscribe; }},
        Spelling{
            "-oversubscribe",
            [](const RunOptions& o) { return o.job.places.oversubscribe; }},
        Spelling{"--nooversubscribe --map-by node",
                 [](const RunOptions& o) {
                   return o.job.places.map_by == "node:nooversubscribe";
                 }},
        Spelling{"--cpus-per-proc 2", TwoCpus},
        Spelling{"--cpus-per-task=2", TwoCpus}, Spelling{"-c 2", TwoCpus},
        Spelling{"--timeout 1:30", NinetySeconds},
        Spelling{"--timeout 90", NinetySeconds},
        Spelling{"--timeout 89.5", NinetySeconds},
        Spelling{"--time 1:30", NinetySeconds},
        Spelling{
            "-t 2",
            [](const RunOptions& o) { return o.job.timeout_seconds == 120; }},
        Spelling{"--label", [](const RunOptions& o) { return o.tag_output; }},
        Spelling{"--export=ALL,A=1,SET",
                 [](const RunOptions& o) {
                   return o.job.apps[0].env ==
                          std::vector<std::string>{"A=1", "SET=value"};
                 }},
        Spelling{"--nolocal",
                 [](const RunOptions& o) { return o.job.places.no_local; }},
        Spelling{"--report-bindings",
                 [](const RunOptions& o) { return o.report_bindings; }},
        Spelling{"-report-bindings",
                 [](const RunOptions& o) { return o.report_bindings; }},
        Spelling{"--display map,allocation",
                 [](const RunOptions& o) {
                   return o.display_map && o.display_allocation;
                 }},
        Spelling{"--display topo",
                 [](const RunOptions& o) { return o.display_topology; }},
        Spelling{"--pty", [](const RunOptions& o) { return o.pty; }},
        Spelling{"--display-map",
                 [](const RunOptions& o) { return o.display_map; }},
        Spelling{"--do-not-launch",
                 [](const RunOptions& o) { return o.do_not_launch; }},
        Spelling{"--max-restarts 3 --enable-recovery",
                 [](const RunOptions& o) {
                   return o.job.max_restarts == 3 && o.job.recoverable;
                 }},
        Spelling{"--continuous --index-argv-by-rank",
                 [](const RunOptions& o) {
                   return o.job.max_restarts == UINT32_MAX &&
                          o.job.process.index_argv;
                 }},
        Spelling{"--preload-binary --preload-files a,/b/c",
                 [](const RunOptions& o) {
                   return o.job.apps[0].preload_program &&
                          o.job.apps[0].preload_files == "a,/b/c";
                 }},
        Spelling{
            "-s",
            [](const RunOptions& o) { return o.job.apps[0].preload_program; }},
        Spelling{"--detach",
                 [](const RunOptions& o) {
                   return o.detach && !o.input_is_pushed();
                 }},
        Spelling{"--detach --stdin 0",
                 [](const RunOptions& o) { return o.input_is_pushed(); }},
        Spelling{"--detach --stdin none",
                 [](const RunOptions& o) { return !o.input_is_pushed(); }},
        Spelling{"--stop-on-exec",
                 [](const RunOptions& o) { return o.stop_on_exec; }},
        Spelling{"--stop-in-init",
                 [](const RunOptions& o) { return o.stop_in_init; }},
        Spelling{"--stop-in-app",
                 [](const RunOptions& o) { return o.stop_in_app; }},
        Spelling{"--stop-ranks 7,2-4,3",
                 [](const RunOptions& o) {
                   return o.stop_ranks == std::vector<uint32_t>{2, 3, 4, 7};
                 }},
        Spelling{
            "--cpu-list 0-3",
            [](const RunOptions& o) { return o.job.places.cpu_list == "0-3"; }},
        Spelling{"--report-state-on-timeout --get-stack-traces",
                 [](const RunOptions& o) {
                   return (o.job.reports & kTimeoutStates) != 0 &&
                          (o.job.reports & kTimeoutStacks) != 0;
                 }},
        Spelling{
            "--timeout 7",
            [](const RunOptions& o) { return o.job.timeout_seconds == 7; }},
        Spelling{"--tag-output",
                 [](const RunOptions& o) { return o.tag_output; }},
        Spelling{"-tag-output",
                 [](const RunOptions& o) { return o.tag_output; }},
        Spelling{"--timestamp-output",
                 [](const RunOptions& o) { return o.timestamp_output; }},
        Spelling{"--output tag,timestamp,merge,dir=d",
                 [](const RunOptions& o) {
                   return o.tag_output && o.timestamp_output &&
                          o.job.merge_stderr && o.output_directory == "d";
                 }},
        Spelling{"--output tag,file=logs/%j.%r",
                 [](const RunOptions& o) {
                   return o.tag_output && o.output_file == "logs/%j.%r" &&
                          o.has_rank_files();
                 }},
        Spelling{"--output file=out",
                 [](const RunOptions& o) {
                   return o.output_file == "out" && !o.has_rank_files();
                 }},
        Spelling{"--output-filename d:nocopy,nojobid",
                 [](const RunOptions& o) {
                   return o.output_directory == "d" && o.only_to_files &&
                          !o.job_below_directory;
                 }},
        Spelling{"--merge-stderr-to-stdout",
                 [](const RunOptions& o) { return o.job.merge_stderr; }},
        Spelling{"--allow-run-as-root",
                 [](const RunOptions& o) { return o.allow_run_as_root; }},
        Spelling{"-allow-run-as-root",
                 [](const RunOptions& o) { return o.allow_run_as_root; }},
        Spelling{"--verbose", [](const RunOptions& o) { return o.verbose; }},
        Spelling{"-v", [](const RunOptions& o) { return o.verbose; }},
        Spelling{"--nodes 3", [](const RunOptions& o) { return o.nodes == 3; }},
        Spelling{"--emulate 3",
                 [](const RunOptions& o) { return o.emulate == 3; }},
        Spelling{"--nodes 2 --host a:2,b,c --host a",
                 [](const RunOptions& o) {
                   const std::vector<Host>& hosts = o.job.apps[0].hosts;
                   return o.nodes == 0 && hosts.size() == 3 &&
                          hosts[1].name == "b" && hosts[2].name == "a";
                 }},
        Spelling{"--radix 2",
                 [](const RunOptions& o) { return o.agents.radix == 2; }},
        Spelling{"--security plaintext",
                 [](const RunOptions& o) {
                   return o.agents.security == "plaintext";
                 }},
        Spelling{"--security files --tls-ca a --tls-cert b --tls-key c "
                 "--tls-names d,e.f",
                 [](const RunOptions& o) {
                   return o.agents.security == "files" &&
                          o.agents.tls_ca == "a" && o.agents.tls_cert == "b" &&
                          o.agents.tls_key == "c" &&
                          o.agents.tls_names ==
                              std::vector<std::string>{"d", "e.f"};
                 }},
        Spelling{"--listen 10.0.0.1 --pmix-listen 10.0.0.2",
                 [](const RunOptions& o) {
                   return o.agents.listen == "10.0.0.1" &&
                          o.agents.pmix_listen == "10.0.0.2";
                 }},
        Spelling{"--loss-timeout 9 --log-level debug",
                 [](const RunOptions& o) {
                   return o.agents.loss_timeout_ms == 9000 &&
                          o.agents.log_level == "debug";
                 }},
        Spelling{"--context c",
                 [](const RunOptions& o) { return o.context == "c"; }},
        Spelling{"--queue long -A physics --priority -3 --hint a=1 --hint a=2 "
                 "--hint ab=",
                 [](const RunOptions& o) {
                   const SchedulerHints& hints = o.job.hints;
                   return hints.queue == "long" && hints.account == "physics" &&
                          hints.priority == JobPriority{-3} &&
                          hints.others ==
                              std::vector<std::string>{"a=2", "ab="};
                 }},
        Spelling{"--memory-per-rank 3G",
                 [](const RunOptions& o) {
                   return o.job.places.memory_per_proc == uint64_t{3} << 30;
                 }},
        Spelling{"--mem-per-rank 100",
                 [](const RunOptions& o) {
                   return o.job.places.memory_per_proc == uint64_t{100} << 20;
                 }},
        Spelling{"--nice -5 --name ocean --wait",
                 [](const RunOptions& o) {
                   return o.job.process.nice == NiceValue{-5} &&
                          o.job.name == "ocean" && o.job.places.waits;
                 }},
        Spelling{
            "--inject never",
            [](const RunOptions& o) { return o.job.inject == Inject::kNever; }},
        Spelling{"--stdin all",
                 [](const RunOptions& o) {
                   return o.job.stdin_target == StdinTarget::kAll;
                 }},
        Spelling{"--stdin 3",
                 [](const RunOptions& o) {
                   return o.job.stdin_rank == 3 && o.stdin_given;
                 }},
        Spelling{"-o json", [](const RunOptions& o) { return o.json; }},
        Spelling{"--launch-agent 'ip netns exec {host}'",
                 [](const RunOptions& o) {
                   return o.agents.launch_agent == "ip netns exec {host}";
                 }}));

TEST(RunOptionsTest, ColonsSeparatePrograms) {
  const RunOptions options =
      MustParse("-n 2 -x A=1 a x : -n 3 --host h b : --tag-output c :d");
  ASSERT_EQ(options.job.apps.size(), 3u);
  EXPECT_EQ(options.job.apps[0].argv, (std::vector<std::string>{"a", "x"}));
  EXPECT_EQ(options.job.apps[0].num_procs, 2u);
  EXPECT_EQ(options.job.apps[0].env, std::vector<std::string>{"A=1"});
  EXPECT_TRUE(options.job.apps[0].hosts.empty());
  EXPECT_EQ(options.job.apps[1].num_procs, 3u);
  EXPECT_EQ(options.job.apps[1].hosts.size(), 1u);
  EXPECT_TRUE(options.job.apps[1].env.empty());
  EXPECT_EQ(options.job.apps[2].argv, (std::vector<std::string>{"c", ":d"}));
  EXPECT_TRUE(options.tag_output);
}

TEST(RunOptionsTest, InvalidPatternsOfOutputFilesAreRefused) {
  for (const char* value : {"file=", "file=a/", "file=%j/out", "file=%r/%j",
                            "file=a%x", "file=a%"}) {
    const auto args = SplitCommand(std::string("--output ") + value + " true");
    EXPECT_EQ(ParseRunOptions(*args, TestEnvironment).code(), kErrBadParam)
        << value;
  }
}

TEST(RunOptionsTest, MpirunWritesAnOutputFileForEachRank) {
  const auto args = *SplitCommand("--output file=out true");
  EXPECT_EQ(ParseRunOptions(args, TestEnvironment, true)->output_file,
            "out.%r");
}

TEST(RunOptionsTest, OptionCOfMpirunIsTheNumberOfProcesses) {
  const auto args = *SplitCommand("-c 4 ./app");
  const auto as_mpirun = ParseRunOptions(args, TestEnvironment, true);
  ASSERT_TRUE(as_mpirun.ok());
  EXPECT_EQ(as_mpirun->job.apps[0].num_procs, 4u);
  EXPECT_EQ(as_mpirun->job.places.map_by, "");
}

TEST(RunOptionsTest, EachProgramHasItsNumberOfProcesses) {
  EXPECT_EQ(MustParse("-n 2 a : -n 3 b").job.apps[1].num_procs, 3u);
}

TEST(RunOptionsTest, TheNumberAndSizeOfHintsAreLimited) {
  std::string line;
  for (int i = 0; i < 64; ++i) line += "--hint n" + std::to_string(i) + "= ";
  EXPECT_TRUE(Parse(line + "a").ok());
  EXPECT_FALSE(Parse(line + "--hint more= a").ok());
  const std::string longest(4094, 'x');
  EXPECT_TRUE(Parse("--hint a=" + longest + " a").ok());
  EXPECT_FALSE(Parse("--hint a=" + longest + "x a").ok());
}

TEST(RunOptionsTest, DoubleDashEndsTheOptions) {
  const RunOptions options = MustParse("-n 2 -- -odd-name arg");
  EXPECT_EQ(options.job.apps[0].argv,
            (std::vector<std::string>{"-odd-name", "arg"}));
}

TEST(RunOptionsTest, ExportsVariables) {
  const RunOptions options = MustParse("-x SET -x A=b=c -x MISSING app");
  EXPECT_EQ(options.job.apps[0].env,
            (std::vector<std::string>{"SET=value", "A=b=c"}));
  ASSERT_EQ(options.warnings.size(), 1u);
  EXPECT_NE(options.warnings[0].find("MISSING"), std::string::npos);
}

TEST(RunOptionsTest, ParametersBecomeVariablesOfTheirLibraries) {
  const RunOptions options = MustParse(
      "-gmca a 1 --pmixmca b 2 --prtemca c 3 -genv G v -env E w -path /p app");
  EXPECT_EQ(options.job.env, (std::vector<std::string>{"OMPI_MCA_a=1", "G=v"}));
  EXPECT_EQ(options.job.apps[0].env,
            (std::vector<std::string>{"PMIX_MCA_b=2", "PRTE_MCA_c=3", "E=w",
                                      "PATH=/p:/usr/bin"}));
}

TEST(RunOptionsTest, AVariableCanBeGivenInOneWordOrInTwo) {
  const RunOptions options = MustParse(
      "--env=A=1 -env B=2=3 --env C= -env D 4=5 -genv=E=6 --genv F 7 app x=y");
  EXPECT_EQ(options.job.apps[0].env,
            (std::vector<std::string>{"A=1", "B=2=3", "C=", "D=4=5"}));
  EXPECT_EQ(options.job.env, (std::vector<std::string>{"E=6", "F=7"}));
  EXPECT_EQ(options.job.apps[0].argv, (std::vector<std::string>{"app", "x=y"}));
  // NAME=VALUE in one word is not accepted for parameters of libraries.
  EXPECT_EQ(MustParse("-mca a=b c app").job.apps[0].env,
            std::vector<std::string>{"OMPI_MCA_a=b=c"});
}

TEST(RunOptionsTest, AnAppFileContainsProgramsWithOptions) {
  const std::string path = TestFile(
      "apps", "# comment\n-np 2 ./a 'b c'\n\n-np 3 --wdir /y ./d : x\n");
  const RunOptions options = MustParse("--wdir /x --app " + path);
  ASSERT_EQ(options.job.apps.size(), 2u);
  EXPECT_EQ(options.job.apps[0].argv, (std::vector<std::string>{"./a", "b c"}));
  EXPECT_EQ(options.job.apps[0].num_procs, 2u);
  EXPECT_EQ(options.job.apps[0].cwd, "/x");
  EXPECT_EQ(options.job.apps[1].num_procs, 3u);
  EXPECT_EQ(options.job.apps[1].cwd, "/y");
}

TEST(RunOptionsTest, AnAppFileCannotNameAnotherOne) {
  const std::string path = TestFile("nested", "--app other\n");
  EXPECT_NE(Parse("--app " + path).status().message().find("another one"),
            std::string::npos);
}

TEST(RunOptionsTest, AnAppFileCanRequestHelp) {
  const std::string path = TestFile("help", "--help\n");
  EXPECT_TRUE(MustParse("--app " + path).help);
}

TEST(RunOptionsTest, HostsOfHostfileAndOptionAreCombined) {
  const std::string path = TestFile("hosts", "n1 slots=4\nn2\n");
  for (const char* option : {"--hostfile ", "-machinefile ", "-hostfile ",
                             "--machinefile ", "-f "}) {
    const RunOptions options = MustParse(option + path + " --host n3 app");
    ASSERT_EQ(options.job.apps[0].hosts.size(), 3u) << option;
    EXPECT_EQ(options.job.apps[0].hosts[0].slots, 4u);
  }
}

TEST(RunOptionsTest, HelpAndVersionNeedNoProgram) {
  EXPECT_TRUE(MustParse("--help").help);
  EXPECT_TRUE(MustParse("-h").help);
  EXPECT_TRUE(MustParse("-n 2 --version").version);
  EXPECT_TRUE(MustParse("-V").version);
}

TEST(RunOptionsTest, ALauncherThatAToolHasStartedNeedsNoProgram) {
  const auto parse = [](const std::string& line) {
    return ParseRunOptions(*SplitCommand(line), [](const char* name) {
      const bool file = std::string_view(name) == "PMIX_LAUNCHER_RNDZ_FILE";
      return file ? "/a/file" : nullptr;
    });
  };
  EXPECT_TRUE(parse("--verbose").value().job.apps.empty());
  EXPECT_EQ(parse("./app").value().job.apps.size(), 1u);
  EXPECT_EQ(parse("a : -n 2").code(), kErrJobNoExeSpecified);
}

struct Refusal {
  const char* line;
  const char* text;  // part of the message
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, TheErrorGivesAdvice) {
  const Result<RunOptions> options = Parse(GetParam().line);
  ASSERT_FALSE(options.ok()) << GetParam().line;
  const std::string message = options.status().message();
  EXPECT_NE(message.find(GetParam().text), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusalTest,
    testing::Values(
        Refusal{"", "no program"}, Refusal{"-n 2", "no program"},
        Refusal{"a :", "no program"}, Refusal{": a", "no program"},
        Refusal{"-n 0 a", "at least one"}, Refusal{"-n -1 a", "a number"},
        Refusal{"-n x a", "a number"}, Refusal{"-n 99999999999 a", "a number"},
        Refusal{"-n 2 -np 2 a", "the number of processes is given twice"},
        Refusal{"--timeout 1:90 a", "such as 90, 10m or 1:30"},
        Refusal{"--timeout 9999d a", "seconds"},
        Refusal{"--time 10m a", "10 (minutes)"},
        Refusal{"--export NONE a", "ALL, NAME or NAME=VALUE"},
        Refusal{"-n", "'-n' needs a value: N"}, Refusal{"-mca a", "NAME VALUE"},
        Refusal{"--mapby node a", "'--map-by'"},
        Refusal{"--oversubcribe a", "'--oversubscribe'"},
        Refusal{"-hostfiel f a", "'--hostfile'"},
        Refusal{"--frobnicate a", "unknown option '--frobnicate'"},
        Refusal{"--oversubscribe=1 a", "takes no value"},
        Refusal{"--display mpa a", "did you mean 'map'"},
        Refusal{"--gpus-per-rank 0 a", "1 to 1024"},
        Refusal{"--memory-per-rank 0 a", "512M or 4G"},
        Refusal{"--memory-per-rank 2048T a", "at most 1024T"},
        Refusal{"--memory-per-rank 1x a", "512M or 4G"},
        Refusal{"--hint a a", "NAME=VALUE"},
        Refusal{"--hint =a a", "NAME=VALUE"},
        Refusal{"--priority high a", "a number from"},
        Refusal{"--nice 20 a", "a nice value from -20 to 19"},
        Refusal{"--nice -21 a", "a nice value from -20 to 19"},
        Refusal{"--nice --1 a", "a nice value from -20 to 19"},
        Refusal{"--inject sometimes a", "auto, always or never"},
        Refusal{"--stdin first a", "a rank"}, Refusal{"--radix 1 a", "from 2"},
        Refusal{"--nodes 0 a", "from 1"},
        Refusal{"--emulate 2 --context c a", "cannot be combined"},
        Refusal{"--emulate 2 --nodes 2 a", "cannot be combined"},
        Refusal{"--nodes 3 --host b,c,b a", "names only 2"},
        Refusal{"--nodes 1 --host b a : --host c d", "hosts of 'd'"},
        Refusal{"--launch-agent ssh a", "{host}"},
        Refusal{"--security none a", "tls, files or plaintext"},
        Refusal{"--security files a", "--tls-ca"},
        Refusal{"--tls-key k a", "--security files"},
        Refusal{"--tls-names k a", "--security files"},
        Refusal{"--tls-names k,,l a", "separated by commas"},
        Refusal{"--host a:0 b", "number of slots"},
        Refusal{"--host a,,b c", "name a host"}, Refusal{"-x =1 a", "NAME"},
        Refusal{"-o yaml a", "json or text"},
        Refusal{"--hostfile /nonexistent a", "/nonexistent"},
        Refusal{"--app /nonexistent", "/nonexistent"}));

TEST(RunOptionsTest, TheHelpTextNamesTheOptions) {
  const std::string help = RunOptionHelp();
  for (const char* name : {"--np", "--hostfile", "--map-by", "--mca",
                           "--tag-output", "--timeout", "--version"}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(help.find("--bycore"), std::string::npos);
}

TEST(RunOptionsTest, OptionsThatCannotBeHonouredAreRefusedWithAdvice) {
  for (const auto& [word, advice] :
       {std::pair{"--gpus 2", "--gpus-per-task"},
        {"--pty -o json", "-o json cannot be combined with --pty"},
        {"--pty --detach", "--detach cannot be combined"},
        {"--pty --stdin 1", "--stdin cannot be combined"},
        {"--pty --label", "--tag-output cannot be combined"}}) {
    const Result<RunOptions> refused = Parse(std::string(word) + " app");
    EXPECT_EQ(refused.code(), kErrBadParam) << word;
    EXPECT_NE(refused.status().message().find(advice), std::string::npos)
        << refused.status().message();
  }
}

TEST(RunOptionsTest, ARankfilePlacesTheRanks) {
  const std::string path = TestFile("ranks", "rank 0=n1 slot=1:0\n");
  for (const char* option :
       {"--rankfile ", "-rf ", "--rankfile=", "--map-by rankfile:FILE="}) {
    const RunOptions options = MustParse(option + path + " app");
    EXPECT_EQ(options.job.apps[0].hosts.at(0).name, "n1") << option;
    EXPECT_EQ(options.job.places.map_by, "seq") << option;
    EXPECT_EQ(options.job.places.bind_to, "slots=1:0") << option;
  }
  EXPECT_NE(Parse("-rf " + path + " -n 2 app")
                .status()
                .message()
                .find("rank 1 has no line"),
            std::string::npos);
}

TEST(RunOptionsTest, TheDocumentIsWrittenToAFileOrToAFreeStandardOutput) {
  const RunOptions named = MustParse("-o json=a/b app");
  EXPECT_TRUE(named.json);
  EXPECT_EQ(named.json_file, "a/b");
  EXPECT_FALSE(named.standard_output_is_free());
  EXPECT_EQ(Parse("-o json= app").code(), kErrBadParam);
  EXPECT_TRUE(MustParse("-o json=a -o json app").json_file.empty());
  for (const char* free :
       {"--output file=f", "--output-filename d:nocopy", "--do-not-launch"}) {
    EXPECT_TRUE(
        MustParse(std::string(free) + " app").standard_output_is_free());
  }
  for (const char* taken :
       {"--output file=f.%r", "--output-filename d", "--quiet"}) {
    EXPECT_FALSE(
        MustParse(std::string(taken) + " app").standard_output_is_free());
  }
}

}  // namespace
}  // namespace canopy::cli
