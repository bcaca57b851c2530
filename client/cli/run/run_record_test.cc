#include "client/cli/run/run_record.h"

#include <gtest/gtest.h>

#include "client/cli/options/run_options.h"

namespace canopy::cli {
namespace {

TEST(RunRecordTest, TheCommandContainsEveryProgramInPrintableForm) {
  RunOptions options;
  options.job.apps.resize(2);
  options.job.apps[0].argv = {"a", "b\n"};
  options.job.apps[1].argv = {"c"};
  const HistoryEntry entry = EntryOf(options, "default");
  EXPECT_EQ(entry.command, "a 'b\\n' : c");
  EXPECT_EQ(entry.context, "default");
}

TEST(RunRecordTest, NodesWithoutProcessesAreOmitted) {
  control::v1::JobMapped mapped;
  mapped.set_num_procs(3);
  for (const char* name : {"n1", "n2", "n3"}) {
    mapped.add_nodes()->set_name(name);
  }
  mapped.mutable_nodes(0)->add_procs();
  mapped.mutable_nodes(2)->add_procs();
  mapped.mutable_nodes(2)->add_procs();
  const JobPlace place = PlaceOf(mapped);
  EXPECT_EQ(place.num_procs, 3);
  EXPECT_EQ(place.num_nodes, 2);
  EXPECT_EQ(place.nodes, "n1,n3");
}

}  // namespace
}  // namespace canopy::cli
