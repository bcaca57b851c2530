#include "server/registration/resources.h"

#include <gtest/gtest.h>

#include "common/codec/decoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"

namespace canopy::registration {
namespace {

KeyValue Text(const char* key, const char* text) {
  return {key, Value::String(text)};
}

KeyValue Array(const char* key, const InfoList& infos) {
  return {key, Value::InfoArray(infos)};
}

std::string TextOf(const Keys& keys, std::string_view key) {
  for (const auto& [name, encoded] : keys) {
    if (name != key) continue;
    const auto value = DecodeValue(encoded);
    return value.ok() ? std::string(value->AsString().value_or("no text")) : "";
  }
  return "";
}

// Returns a job of session 7 on the nodes "a", which is this node, and "b".
Registration Job(const Resources& resources, const InfoList& more = {}) {
  InfoList infos{Text(PMIX_NODE_MAP, "a,b"),
                 Text(PMIX_PROC_MAP, "0;1"),
                 {PMIX_SESSION_ID, Value::Uint32(7)}};
  infos.Append(more);
  auto read = ReadRegistration({.nspace = "job",
                                .num_local_procs = 1,
                                .infos = infos.span(),
                                .node_names = {"a"},
                                .node_id = {}});
  EXPECT_TRUE(read.ok()) << read.status().message();
  resources.AddTo(&*read);
  return *std::move(read);
}

Status Register(const InfoList& infos, Resources* resources) {
  return resources->Register(infos.span());
}

Status Deregister(const InfoList& infos, Resources* resources) {
  return resources->Deregister(infos.span());
}

TEST(ResourcesTest, EachJobGetsTheRegisteredResources) {
  Resources resources;
  ASSERT_TRUE(Register({Text("site.key", "x"), Text(PMIX_RM_NAME, "rm"),
                        Text(PMIX_TOPOLOGY_SIGNATURE, "1N")},
                       &resources)
                  .ok());
  const Registration job = Job(resources);
  EXPECT_EQ(TextOf(job.job_keys, "site.key"), "x");
  EXPECT_EQ(TextOf(job.session, PMIX_RM_NAME), "rm");
  EXPECT_EQ(TextOf(job.session, "site.key"), "");
  EXPECT_EQ(TextOf(job.nodes[0], PMIX_TOPOLOGY_SIGNATURE), "1N");
  EXPECT_EQ(TextOf(job.nodes[1], PMIX_TOPOLOGY_SIGNATURE), "");
}

TEST(ResourcesTest, AJobsOwnDataHasPrecedence) {
  Resources resources;
  ASSERT_TRUE(Register({Text("site.key", "x")}, &resources).ok());
  const Registration job = Job(resources, {Text("site.key", "own")});
  EXPECT_EQ(TextOf(job.job_keys, "site.key"), "own");
  ASSERT_TRUE(Register({Text("site.key", "y")}, &resources).ok());
  EXPECT_EQ(TextOf(Job(resources).job_keys, "site.key"), "y");
}

InfoList OfSessionAndNodes() {
  return {Array(PMIX_SESSION_INFO_ARRAY,
                {{PMIX_SESSION_ID, Value::Uint32(7)},
                 Text(PMIX_CLUSTER_ID, "cluster"),
                 Array(PMIX_NODE_INFO_ARRAY,
                       {Text(PMIX_HOSTNAME, "b"), Text("node.key", "of b")})}),
          Array(PMIX_SESSION_INFO_ARRAY, {{PMIX_SESSION_ID, Value::Uint32(8)},
                                          Text(PMIX_RM_NAME, "other")}),
          Array(PMIX_NODE_INFO_ARRAY,
                {{PMIX_NODEID, Value::Uint32(0)}, Text("node.key", "of a")}),
          Array(PMIX_NODE_INFO_ARRAY,
                {Text(PMIX_HOSTNAME, "c"), Text("node.key", "of c")})};
}

TEST(ResourcesTest, ResourcesOfSessionsAndNodesStayInTheirRealm) {
  Resources resources;
  ASSERT_TRUE(Register(OfSessionAndNodes(), &resources).ok());
  const Registration job = Job(resources);
  EXPECT_EQ(TextOf(job.session, PMIX_CLUSTER_ID), "cluster");
  EXPECT_EQ(TextOf(job.job_keys, PMIX_CLUSTER_ID), "cluster");
  EXPECT_EQ(TextOf(job.session, PMIX_RM_NAME), "");
  EXPECT_EQ(TextOf(job.nodes[0], "node.key"), "of a");
  EXPECT_EQ(TextOf(job.nodes[1], "node.key"), "of b");
  ASSERT_EQ(job.other_nodes.size(), 1u);
  EXPECT_EQ(TextOf(job.other_nodes[0].keys, "node.key"), "of c");
}

TEST(ResourcesTest, DeregisterRemovesTheNamedKeys) {
  Resources resources;
  InfoList infos = OfSessionAndNodes();
  infos.Append({Text("first", "1"), Text("second", "2")});
  ASSERT_TRUE(Register(infos, &resources).ok());
  InfoList keys;
  keys.Add("first", Value());
  keys.Append(
      {Array(PMIX_NODE_INFO_ARRAY,
             {Text(PMIX_HOSTNAME, "b"), Text("node.key", "whatever")}),
       Array(PMIX_NODE_INFO_ARRAY, {Text(PMIX_HOSTNAME, "c")}),
       Array(PMIX_SESSION_INFO_ARRAY, {{PMIX_SESSION_ID, Value::Uint32(7)}})});
  ASSERT_TRUE(Deregister(keys, &resources).ok());
  const Registration job = Job(resources);
  EXPECT_EQ(TextOf(job.job_keys, "first"), "");
  EXPECT_EQ(TextOf(job.job_keys, "second"), "2");
  EXPECT_EQ(TextOf(job.session, PMIX_CLUSTER_ID), "");
  EXPECT_EQ(TextOf(job.nodes[0], "node.key"), "of a");
  EXPECT_EQ(TextOf(job.nodes[1], "node.key"), "");
  EXPECT_TRUE(job.other_nodes.empty());
  EXPECT_TRUE(Deregister(keys, &resources).ok());
}

TEST(ResourcesTest, AnInventoryIsDeliveredWithoutTheTopology) {
  Resources resources;
  const InfoList inventory{
      Array(PMIX_NODE_INFO_ARRAY,
            {Text(PMIX_HOSTNAME, "b"), Text(PMIX_TOPOLOGY_SIGNATURE, "2N"),
             Text(PMIX_TOPOLOGY_XML, "<topology/>")})};
  ASSERT_TRUE(resources.Deliver(inventory.span()).ok());
  const Registration job = Job(resources);
  EXPECT_EQ(TextOf(job.nodes[1], PMIX_TOPOLOGY_SIGNATURE), "2N");
  EXPECT_EQ(TextOf(job.nodes[1], PMIX_TOPOLOGY_XML), "");
}

TEST(ResourcesTest, RefusesArraysThatDescribeNoResource) {
  Resources resources;
  const InfoList some{Text("key", "x")};
  for (const InfoList& infos :
       {InfoList{Array(PMIX_JOB_INFO_ARRAY, some)},
        InfoList{Array(PMIX_APP_INFO_ARRAY, some)},
        InfoList{Array(PMIX_PROC_INFO_ARRAY, some)},
        InfoList{Array(PMIX_NODE_INFO_ARRAY, some)},
        InfoList{Array(PMIX_SESSION_INFO_ARRAY, some)},
        InfoList{Array(
            PMIX_NODE_INFO_ARRAY,
            {Text(PMIX_HOSTNAME, "a"),
             Array(PMIX_NODE_INFO_ARRAY, {Text(PMIX_HOSTNAME, "b")})})}}) {
    InfoList with_good = infos;
    with_good.Append(some);
    EXPECT_EQ(Register(with_good, &resources).code(), kErrBadParam);
  }
  EXPECT_EQ(Register({Text(PMIX_NODE_INFO_ARRAY, "x")}, &resources).code(),
            kErrTypeMismatch);
  EXPECT_EQ(TextOf(Job(resources).job_keys, "key"), "");
}

TEST(ResourcesTest, ANamespaceWithoutDataGetsNoData) {
  Resources resources;
  ASSERT_TRUE(Register({Text("key", "x")}, &resources).ok());
  Registration none;
  none.no_data = true;
  resources.AddTo(&none);
  EXPECT_TRUE(none.job_keys.empty());
}

}  // namespace
}  // namespace canopy::registration
