#include "client/cli/run/run_documents.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

namespace v1 = control::v1;

TEST(RunDocumentsTest, RanksAreListedWithTheirCpusAndGpus) {
  v1::JobMapped mapped;
  mapped.set_nspace("canopy-1-1");
  mapped.set_num_procs(2);
  v1::MapNode* const node = mapped.add_nodes();
  node->set_name("n1");
  node->set_slots(2);
  v1::MapProc* const first = node->add_procs();
  first->set_cpuset("0-1");
  first->set_gpus("nvidia:0");
  node->add_procs()->set_rank(1);
  const Json map = MapJson(mapped);
  EXPECT_EQ(map["job"], "canopy-1-1");
  EXPECT_EQ(map["bind_to"], nullptr);
  EXPECT_EQ(LineText(map["nodes"]),
            R"([{"node":"n1","slots":2,"ranks":[)"
            R"({"rank":0,"app":0,"cpus":"0-1","gpus":"nvidia:0"},)"
            R"({"rank":1,"app":0,"cpus":null,"gpus":null}]}])"
            "\n");
}

TEST(RunDocumentsTest, AnEndContainsTheNameOfItsStatus) {
  v1::JobEnd end;
  Json out;
  AddEnd(end, &out);
  EXPECT_EQ(LineText(out),
            R"({"exit_code":0,"status":0,"status_name":"SUCCESS",)"
            R"("reason":null,"first_failed":null})"
            "\n");
  end.set_exit_code(3);
  end.set_status(-187);
  end.set_text("rank 1 exited");
  end.set_first_failed(1);
  AddEnd(end, &out);
  EXPECT_EQ(out["first_failed"], 1);
  EXPECT_EQ(out["reason"], "rank 1 exited");
  EXPECT_NE(out["status_name"], "UNKNOWN");
}

TEST(RunDocumentsTest, NotesContainTheirNodes) {
  v1::ProgramNotes notes;
  v1::ProgramNote* const note = notes.add_notes();
  note->set_reason("it needs pmix_more");
  note->add_nodes("n1");
  note->set_count(9);
  EXPECT_EQ(LineText(NotesJson(notes)),
            R"([{"reason":"it needs pmix_more","details":[],"count":9,)"
            R"("nodes":["n1"]}])"
            "\n");
}

}  // namespace
}  // namespace canopy::cli
