//! Topologies from hwloc's XML: both formats, memory that shares processors, limits, and damage.
use homenode_base::Rng;
use homenode_machine::Topology;
use homenode_machine::topology::{HwlocError, NearBy};

/// Two packages with DRAM each, HBM beside the first DRAM behind a memory-side cache, as hwloc 3 writes it.
const V3: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" allowed_cpuset="0x00000007" nodeset="0x00000015" allowed_nodeset="0x00000005" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x00000003" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" gp_index="10" local_memory="1000000">
        <info name="MemoryTier" value="1"/>
      </object>
      <object type="MemCache" cpuset="0x00000003" gp_index="12" cache_size="4096">
        <object type="NUMANode" os_index="4" subtype="HBM" cpuset="0x00000003" nodeset="0x00000010" gp_index="11" local_memory="2000000"/>
      </object>
      <object type="L3Cache" cache_size="8388608" cache_linesize="64" cache_associativity="16" gp_index="13">
        <object type="L2Cache" cache_size="1048576" cache_linesize="64" cache_associativity="-1" gp_index="14">
          <object type="L1Cache" cache_size="32768" cache_linesize="64" cache_associativity="8" gp_index="15"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" gp_index="3">
      <object type="NUMANode" os_index="2" cpuset="0x0000000c" nodeset="0x00000004" gp_index="20" local_memory="3000000"/>
      <object type="L3Cache" cache_size="8388608" cache_linesize="64" cache_associativity="16" gp_index="23"/>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="3" kind="5" name="NUMALatency" indexing="os">
    <indexes length="6">0 2 4 </indexes>
    <u64values length="27">10 21 17 21 10 28 </u64values>
    <u64values length="9">17 28 10 </u64values>
  </distances2>
  <memattr name="Latency" flags="6">
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="11" value="120" initiator_cpuset="0x00000003"/>
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="11" value="190" initiator_cpuset="0x0000000c"/>
  </memattr>
  <memattr name="Bandwidth" flags="5">
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="11" value="70000" initiator_cpuset="0x00000003"/>
  </memattr>
</topology>
"#;

#[test]
fn nodes_distances_attributes_limits_and_caches_are_read() {
    for version in ["3.0", "2.0", "2.11"] {
        let t = Topology::from_hwloc_xml(&V3.replace("3.0", version)).expect("a topology");
        let ids: Vec<u32> = t.nodes.iter().map(|n| n.os_id).collect();
        assert_eq!(ids, [0, 2, 4]);
        assert_eq!((&t.nodes[0].cpus[..], &t.nodes[1].cpus[..], t.nodes[2].cpus.len()), (&[0, 1][..], &[2, 3][..], 0));
        assert_eq!(
            (t.nodes[1].memory_bytes, t.nodes[2].memory_side_cache_bytes, t.nodes[0].tier),
            (3_000_000, 4096, Some(1))
        );
        assert_eq!(t.distances, [[10, 21, 17], [21, 10, 28], [17, 28, 10]]);
        let hbm = t.nodes[2].best_access.as_ref().expect("latency and bandwidth");
        assert_eq!((&hbm.initiators[..], hbm.read_latency_ns, hbm.write_bandwidth_mbs), (&[0][..], 120, 70_000));
        assert_eq!((t.nodes[1].allowed, t.nodes[2].allowed, &t.forbidden_cpus[..]), (true, false, &[3][..]));
        let caches = t.caches.expect("caches");
        assert_eq!((caches.private.bytes, caches.private.ways, caches.shared.bytes), (1 << 20, 16, 8 << 20));
        let near = t.localities();
        assert_eq!((near.len(), near[0].node, &near[0].nearest[..], near[0].by), (1, 4, &[0][..], NearBy::Initiators));
        assert!(t.machine(None).is_ok());
    }
}

#[test]
fn what_is_no_topology_is_refused_with_the_reason() {
    let error = |text: &str| Topology::from_hwloc_xml(text).expect_err("not a topology");
    assert!(matches!(error("<topology"), HwlocError::Xml(_)));
    assert!(matches!(error("<root><object type='Machine'/></root>"), HwlocError::Kind(_)));
    assert!(error(&V3.replace("version=\"3.0\"", "")).to_string().contains("hwloc 2 or 3"));
    assert!(error(&V3.replace("NUMANode", "Core")).to_string().contains("0 memory nodes"));
    assert!(error(&V3.replace("os_index=\"4\"", "os_index=\"2\"")).to_string().contains("two memory nodes numbered 2"));
    let bad = error(&V3.replacen("os_index=\"4\"", "os_index=\"x\"", 1)).to_string();
    assert!(bad.starts_with("line 10: ") && bad.contains("without a number"), "{bad}");
    let endless = error(&V3.replace("cpuset=\"0x00000003\" nodeset", "cpuset=\"0xf...f,0x00000003\" nodeset"));
    assert!(endless.to_string().contains("more than"), "{endless}");
    let bomb = "<!DOCTYPE t [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">\
                <!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\">\
                <!ENTITY e \"&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;\">]><topology version=\"2.0\">&e;&e;&e;&e;</topology>";
    assert!(!error(bomb).to_string().contains('\n'));
}

#[test]
fn distances_that_do_not_fit_are_noted() {
    for (from, to) in [("0 2 4 ", "0 2 "), ("21 10 28", "21 10"), ("10 21 17", "10 99999999 17"), ("0 2 4 ", "0 2 5 ")]
    {
        let t = Topology::from_hwloc_xml(&V3.replace(from, to)).expect("a topology");
        assert!(t.distances.is_empty() && t.notes.iter().any(|n| n.contains("do not cover")), "{from}");
    }
}

#[test]
fn damaged_files_give_a_sound_machine_or_one_line() {
    let mut rng = Rng::new(3);
    for round in 0..3000 {
        let mut bytes = V3.as_bytes().to_vec();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] = b' ' + rng.below(95) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes[at] = b"0f9-x"[rng.below(5) as usize],
            }
        }
        match Topology::from_hwloc_xml(&String::from_utf8_lossy(&bytes)) {
            Ok(t) => assert!(
                t.machine(None).is_ok_and(|m| m.machine.validate().is_ok())
                    || t.nodes.iter().all(|n| n.cpus.is_empty())
            ),
            Err(e) => assert!(!e.to_string().contains('\n'), "round {round}: {e:?}"),
        }
    }
}
