#include "client/events/handler.h"

#include <gtest/gtest.h>

#include "common/values/value.h"

namespace canopy::client {
namespace {

void Function(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t,
              pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t,
              void*) {}

class Places : public SourcePlaces {
 public:
  const ProcId& self() const override { return self_; }
  bool OnSameNode(const ProcId& proc) const override { return proc.rank < 2; }
  bool IsServer(const ProcId& proc) const override {
    return proc.nspace == "server";
  }

 private:
  const ProcId self_{"job", 0};
};

HandlerSpec Parse(const std::vector<pmix_status_t>& codes,
                  const InfoList& infos) {
  HandlerSpec spec;
  EXPECT_EQ(ParseHandlerSpec(codes.data(), codes.size(), infos.data(),
                             infos.size(), Function, &spec),
            PMIX_SUCCESS);
  return spec;
}

TEST(Handler, CategoryFollowsFromCodesAndDirectives) {
  EXPECT_EQ(Parse({}, {}).category, Category::kDefault);
  EXPECT_EQ(Parse({-1}, {}).category, Category::kSingle);
  EXPECT_EQ(Parse({-1, -2}, {}).category, Category::kMulti);
  InfoList first;
  first.Add(PMIX_EVENT_HDLR_FIRST, Value::Bool(true));
  EXPECT_EQ(Parse({-1}, first).category, Category::kFirst);
  InfoList not_first;
  not_first.Add(PMIX_EVENT_HDLR_FIRST, Value::Bool(false));
  EXPECT_EQ(Parse({-1}, not_first).category, Category::kSingle);
}

TEST(Handler, MalformedDirectivesAreRejected) {
  const auto status = [](const char* key, Value value) {
    InfoList infos;
    infos.Add(key, std::move(value));
    HandlerSpec spec;
    return ParseHandlerSpec(nullptr, 0, infos.data(), infos.size(), Function,
                            &spec);
  };
  EXPECT_EQ(status(PMIX_EVENT_HDLR_NAME, Value::Int(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_RANGE, Value::Int(99)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_EVENT_AFFECTED_PROC, Value::Int(1)),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_EVENT_RETURN_OBJECT, Value::Int(1)),
            PMIX_ERR_BAD_PARAM);
  HandlerSpec spec;
  EXPECT_EQ(ParseHandlerSpec(nullptr, 0, nullptr, 0, nullptr, &spec),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ParseHandlerSpec(nullptr, 1, nullptr, 0, Function, &spec),
            PMIX_ERR_BAD_PARAM);
}

TEST(Handler, PositionsFollowFromCategoryPlaceAndNumber) {
  const HandlerSpec plain = Parse({-1}, {});
  InfoList prepend;
  prepend.Add(PMIX_EVENT_HDLR_PREPEND, Value::Bool(true));
  const HandlerSpec before = Parse({-1}, prepend);
  EXPECT_LT(PositionOf(plain, 1), PositionOf(plain, 2));
  EXPECT_LT(PositionOf(before, 4), PositionOf(before, 3));
  EXPECT_LT(PositionOf(before, 9), PositionOf(plain, 1));
  EXPECT_LT(PositionOf(plain, 9), PositionOf(Parse({}, prepend), 1));
}

TEST(Handler, ACustomRangeNamesTheSources) {
  const Places places;
  const ProcId wanted{"job", kRankWildcard};
  InfoList infos;
  infos.Add(PMIX_EVENT_CUSTOM_RANGE, Value::ProcArray({&wanted, 1}));
  const HandlerSpec spec = Parse({}, infos);
  EXPECT_EQ(spec.range, PMIX_RANGE_CUSTOM);
  EXPECT_TRUE(Wants(spec, *MakeEvent(-1, {"job", 3}, 5, {}), places));
  EXPECT_FALSE(Wants(spec, *MakeEvent(-1, {"other", 3}, 5, {}), places));
}

TEST(Handler, AnEventWithoutAffectedProcessesAffectsAll) {
  const Places places;
  InfoList infos;
  infos.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc({"job", 2}));
  const HandlerSpec spec = Parse({}, infos);
  EXPECT_TRUE(Wants(spec, *MakeEvent(-1, {"job", 3}, 5, {}), places));
  InfoList event;
  event.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc({"job", kRankWildcard}));
  EXPECT_TRUE(Wants(spec, *MakeEvent(-1, {"job", 3}, 5, event), places));
  event.Set(PMIX_EVENT_AFFECTED_PROC, Value::Proc({"job", 4}));
  EXPECT_FALSE(Wants(spec, *MakeEvent(-1, {"job", 3}, 5, event), places));
}

}  // namespace
}  // namespace canopy::client
