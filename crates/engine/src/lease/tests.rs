#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;

use super::*;

/// A target's state in memory, whose texts anybody may replace.
#[derive(Default)]
struct Memory(Mutex<HashMap<String, String>>);

impl TargetState for Memory {
    fn read(&self, name: &str) -> Result<Option<String>> {
        Ok(lock(&self.0).get(name).cloned())
    }

    fn replace(&self, name: &str, before: Option<&str>, text: &str) -> Result<bool> {
        let mut texts = lock(&self.0);
        let is_same = texts.get(name).map(String::as_str) == before;
        if is_same {
            texts.insert(name.to_owned(), text.to_owned());
        }
        Ok(is_same)
    }

    fn forget(&self, name: &str) -> Result<()> {
        lock(&self.0).remove(name);
        Ok(())
    }

    fn identity(&self) -> Result<Option<String>> {
        Ok(None)
    }
}

fn target() -> Arc<dyn TargetState> {
    Arc::new(Memory::default())
}

fn claim(target: &Arc<dyn TargetState>) -> Result<LeaseClaim> {
    let before = target.read("job")?;
    TargetLease::claim(target, "job", before.as_deref(), ("there", false), patience(), &Job::default())
}

fn held(target: &Arc<dyn TargetState>) -> TargetLease {
    match claim(target).unwrap() {
        LeaseClaim::Held(lease) => lease,
        LeaseClaim::Changed => panic!("the state has changed"),
    }
}

fn state(target: &Arc<dyn TargetState>) -> Map<String, Value> {
    object(target.read("job").unwrap().as_deref())
}

/// Lets the owner look like one of another process.
fn change_owner(target: &Arc<dyn TargetState>, key: &str, value: Value) {
    let before = target.read("job").unwrap();
    let mut changed = object(before.as_deref());
    changed["owner"][key] = value;
    assert!(target.replace("job", before.as_deref(), &Value::Object(changed).to_string()).unwrap());
}

#[test]
fn a_lease_is_given_back_with_the_last_word() {
    let target = target();
    let lease = held(&target);
    lease.write(&json!({ "version": 1 })).unwrap();
    assert!(state(&target).contains_key("owner"));
    lease.end(&json!({ "version": 2 }), |_| true).unwrap();
    assert_eq!(of_job(&state(&target)), json!({ "version": 2 }));
    assert!(!state(&target).contains_key("owner"));
    drop(held(&target));
    assert!(!state(&target).contains_key("owner"));
}

#[test]
fn a_second_run_waits_and_then_says_who_is_there() {
    let target = target();
    let lease = held(&target);
    let error = claim(&target).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    lease.end(&json!({}), |_| true).unwrap();
}

#[test]
fn a_state_that_has_changed_is_read_again() {
    let target = target();
    held(&target).end(&json!({ "version": 1 }), |_| true).unwrap();
    let early = TargetLease::claim(&target, "job", None, ("there", false), patience(), &Job::default()).unwrap();
    assert!(matches!(early, LeaseClaim::Changed));
}

#[test]
fn an_owner_that_is_gone_is_taken_over_and_confesses() {
    let target = target();
    let old = held(&target);
    old.write(&json!({ "version": 1 })).unwrap();
    old.shared.has_sent.store(true, Ordering::Release);
    // No process began at that time.
    change_owner(&target, "began", json!(1));
    let new = held(&target);
    assert_eq!(new.doubts().len(), 1);
    assert!(new.doubts()[0].is_new);
    assert_eq!(old.write(&json!({ "version": 7 })).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(old.guard().open(|| panic!("the lease is lost")).err().unwrap().kind(), ErrorKind::Conflict);
    drop(old);
    // What was confessed meanwhile is not forgotten.
    new.end(&json!({ "version": 2 }), |doubt| !doubt.is_new).unwrap();
    assert!(has_doubts(target.read("job").unwrap().as_deref()));
    let next = held(&target);
    assert_eq!(next.doubts()[0].state, json!({ "version": 1 }));
    next.end(&json!({ "version": 2 }), |_| true).unwrap();
    assert!(!has_doubts(target.read("job").unwrap().as_deref()));
    assert_eq!(of_job(&state(&target)), json!({ "version": 2 }));
}

#[test]
fn a_state_that_was_replaced_is_lost() {
    let target = target();
    let lease = held(&target);
    target.forget("job").unwrap();
    assert_eq!(lease.write(&json!({})).unwrap_err().kind(), ErrorKind::Conflict);
    drop(lease);
    assert_eq!(target.read("job").unwrap(), None);
}
