#include "server/core/pset/process_sets.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/job_name.h"
#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// Returns the event in the form in which it arrives at an agent.
EventMessage Message(const EventRaised& raised) {
  EventMessage event;
  event.status = raised.status;
  event.source = raised.source;
  event.request = raised.id;
  event.info = raised.info;
  event.user = raised.user;
  return event;
}

class ProcessSetsTest : public testing::Test {
 protected:
  ProcessSetsTest() {
    auto job = std::make_shared<JobSpec>(*JobOn("job", {0, 1, 1}));
    job->apps.push_back(job->apps[0]);
    job->apps[1].pset = "ice";
    job->procs[1].app = 1;
    job->procs[2].app = 1;
    jobs_.Add(std::move(job));
  }
  void Define(const std::string& name, std::vector<ProcId> members) {
    sets_.OnEvent(Message(sets_.Define({"job", 0}, 7, name, members)));
  }

  JobTable jobs_{0};
  ProcessSets sets_{jobs_};
};

TEST_F(ProcessSetsTest, AnEventOfAnAgentDefinesTheSet) {
  Define("ocean", {{"job", 2}, {"job", 0}, {"job", 2}});
  ASSERT_EQ(sets_.sets().size(), 1u);
  EXPECT_EQ(sets_.sets().at("ocean").members,
            (std::vector<ProcId>{{"job", 0}, {"job", 2}}));
  EXPECT_TRUE(sets_.IsDefined({"job", 0}, 7, "ocean"));
  EXPECT_FALSE(sets_.IsDefined({"job", 0}, 8, "ocean"));
  Define("all", {{"job", kRankWildcard}});
  EXPECT_EQ(sets_.sets().at("all").members.size(), 3u);
}

// Agents without the owner's job learn its user from the events.
TEST_F(ProcessSetsTest, DefinitionsAndEndsHaveTheUserOfTheOwner) {
  const uint64_t user = uint64_t{jobs_.Find("job")->spec->uid} + 1;
  Define("ocean", {{"job", 0}});
  EXPECT_EQ(sets_.sets().at("ocean").user, user);
  EXPECT_EQ(sets_.DeletionsOf("job").at(0).user, user);
  for (const EventRaised& event : sets_.OfApplications(*jobs_.Find("job"))) {
    EXPECT_EQ(event.user, user);
  }
}

TEST_F(ProcessSetsTest, TheSetsOfAJobAreLimited) {
  jobs_.Add(JobOn("other", {0}));
  size_t defined = 0;
  for (; defined < kMaxProcessSets; ++defined) {
    const std::string name = "set" + std::to_string(defined);
    if (sets_.Check("job", name, {{"job", 0}}) != kSuccess) break;
    sets_.OnEvent(
        Message(sets_.Define({"job", 0}, 100 + defined, name, {{"job", 0}})));
  }
  EXPECT_EQ(defined, kMaxProcessSets / 2);
  EXPECT_EQ(sets_.Check("job", "more", {{"job", 0}}), kErrOutOfResource);
  EXPECT_EQ(sets_.Check("other", "more", {{"other", 0}}), kSuccess);
}

TEST_F(ProcessSetsTest, ASetEndsWithItsJob) {
  Define("ocean", {{"job", 0}});
  const std::vector<EventRaised> ends = sets_.DeletionsOf("job");
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_TRUE(sets_.DeletionsOf("other").empty());
  EventMessage forged = Message(ends[0]);
  forged.source = {"other", 0};
  sets_.OnEvent(forged);
  EXPECT_EQ(sets_.sets().size(), 1u);
  sets_.OnEvent(Message(ends[0]));
  EXPECT_TRUE(sets_.sets().empty());
}

// An agent may learn of the end before the definition.
TEST_F(ProcessSetsTest, ADefinitionAfterTheEndOfItsJobIsIgnored) {
  CoreEvents events;
  sets_.set_events(&events);
  Define("ocean", {{"job", 0}});
  sets_.OnEvent(Message(sets_.DeletionsOf("job")[0]));
  EXPECT_FALSE(
      sets_.OnEvent(Message(sets_.Define({"job", 1}, 8, "sea", {{"job", 1}}))));
  EXPECT_TRUE(sets_.sets().empty());
  // The end is raised again for agents that received the set before the end.
  const auto late = TakeAll<LateSetEnded>(&events);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].event.source, (ProcId{"job", kRankWildcard}));
}

TEST_F(ProcessSetsTest, OfApplicationsDefinesTheSetsOfApplications) {
  const std::vector<EventRaised> defined =
      sets_.OfApplications(*jobs_.Find("job"));
  ASSERT_EQ(defined.size(), 1u);
  sets_.OnEvent(Message(defined[0]));
  EXPECT_EQ(sets_.sets().at("ice").members,
            (std::vector<ProcId>{{"job", 1}, {"job", 2}}));
}

TEST_F(ProcessSetsTest, InvalidDefinitionsAreRefused) {
  Define("ocean", {{"job", 0}});
  EXPECT_EQ(sets_.Check("job", "sea", {{"job", 0}}), kSuccess);
  EXPECT_EQ(sets_.Check("job", "ocean", {{"job", 0}}), kErrExists);
  EXPECT_EQ(sets_.Check("job", "job", {{"job", 0}}), kErrBadParam);
  // Names of jobs that this agent does not know, or that may exist later, are
  // refused.
  EXPECT_EQ(sets_.Check("job", JobName(9, 1), {{"job", 0}}), kErrBadParam);
  EXPECT_EQ(sets_.Check("job", "", {{"job", 0}}), kErrBadParam);
  EXPECT_EQ(sets_.Check("job", std::string(256, 'x'), {}), kErrBadParam);
  EXPECT_EQ(sets_.Check("job", "sea", {{"job", 3}}), kErrBadParam);
  EXPECT_EQ(sets_.Check("job", "sea", {{"other", 0}}), kErrNotFound);
}

TEST_F(ProcessSetsTest, AProcessCannotDefineASetByAnEvent) {
  EventMessage event = Message(sets_.Define({"job", 0}, 7, "ocean", {}));
  event.request &= ~(uint64_t{1} << 63);
  sets_.OnEvent(event);
  EXPECT_TRUE(sets_.sets().empty());
  // A malformed event is ignored.
  EventMessage cut = Message(sets_.Define({"job", 0}, 7, "o", {{"job", 0}}));
  for (size_t size = 0; size < cut.info.size(); ++size) {
    EventMessage part = cut;
    part.info = cut.info.Slice(0, size);
    sets_.OnEvent(part);
    EXPECT_TRUE(sets_.sets().empty()) << size;
  }
}

}  // namespace
}  // namespace canopy::core
